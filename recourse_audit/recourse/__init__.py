"""A subject and a policy come in; options that the model confirms go out, or a certificate."""
