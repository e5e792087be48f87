"""Names that `story` still takes from here."""

from anyorder.web.view import Seen, finite

__all__ = ["Seen", "finite"]
