"""Property tests draw the same cases in every run, so that a run can be repeated.

To look for new ones: `HYPOTHESIS_PROFILE=explore python -m pytest`.
"""

import os

from hypothesis import settings

# One thread for each test process, and for what it starts: threads of several processes that wait
# for each other take longer than they save. NumPy is not loaded yet, and reads this once.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
