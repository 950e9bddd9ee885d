"""What every test of pages may ask for by name."""

from tests.render.browser import chromium

__all__ = ["chromium"]
