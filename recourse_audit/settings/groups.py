"""Which groups are compared."""

from recourse_audit.settings.section import Section


class GroupSettings(Section):
    """Which columns of the nodes are protected attributes."""

    attributes: tuple[str, ...] = ()
