"""The only door to jinja2: a view and a template become one page that needs no other file.

Style sheets and scripts are written into the page, and its content security policy names each by
its hash, so that a browser runs and loads nothing that is not in the page. Whatever comes from a
graph is escaped; only what has `__html__`, as our pictures do, is not. Templates are the operator's
files and run in Jinja's own sandbox: they cannot reach Python or change what they are given.
"""

import base64
import hashlib
import re
import shutil
import traceback
from collections.abc import Callable
from functools import cache, cached_property
from html import unescape
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import (
    FunctionLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
    pass_context,
)
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup
from pydantic import ValidationError

from recourse_audit.errors import AuditError, TemplateError
from recourse_audit.render.text import plain
from recourse_audit.settings.section import Section, exists, first_problem, is_folder, read_toml

PACKAGE = Path(__file__).parents[1]
PAGES = ("pages/", "letters/")
# These would turn escaping off, or make two runs differ.
REFUSED_FILTERS = ("safe", "random")
# How a page writes figures: filters that are the methods of its words, so in one place.
FORMATS = (
    *("number", "exact", "fixed", "signed", "amount", "probability", "percent", "whole_percent"),
    *("log_odds", "points", "day", "series", "name"),
)
S = TypeVar("S", bound=Section)
_META = re.compile(r"<meta[\s/>]", flags=re.IGNORECASE)
# All that may stand before the policy of a page.
_BEFORE = re.compile(
    r"\s*(<!doctype html>\s*)?<html(\s[^<>]*)?>\s*<head>\s*"
    r"((<meta\s(?![^<>]*http-equiv)[^<>]*>|<title>[^<]*</title>)\s*)*",
    flags=re.IGNORECASE,
)


def template_folder() -> Path:
    """The folder of the templates: inside an installed package, or beside it in a checkout."""
    for folder in (PACKAGE / "_data" / "templates", PACKAGE.parent / "templates"):
        if (folder / "styles").is_dir():
            return folder
    raise TemplateError("this installation lacks its templates; install recourse-audit again")


def eject(folder: Path) -> None:
    """Copy all templates into a new folder, where the user can change them."""
    if exists(folder) and (not is_folder(folder) or any(folder.iterdir())):
        raise TemplateError(f"{folder}: is not empty; choose a new folder for the templates")
    try:
        shutil.copytree(template_folder(), folder, dirs_exist_ok=True)
    except OSError as error:
        reason = error.strerror or "its files are protected"
        raise TemplateError(f"{folder}: cannot be written ({reason}); choose another") from None


class Templates:
    """Our templates, each replaced by the user's own file of the same name where there is one.

    Parameters
    ----------
    own
        A folder laid out like `templates/`; a file in it replaces ours.
    """

    def __init__(self, own: Path | None = None) -> None:
        if own is not None and not is_folder(own):
            raise TemplateError(f"{own}: there is no such folder; create one with --eject")
        self.folders = tuple(folder for folder in (own, template_folder()) if folder is not None)
        self._environment = ImmutableSandboxedEnvironment(
            loader=FunctionLoader(self._source),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        for name in REFUSED_FILTERS:
            del self._environment.filters[name]
        self._environment.filters |= {name: _format_filter(name) for name in FORMATS}
        self._environment.filters |= {"capital": _with_capital, "plain": plain}
        self._heads: set[str] = set()
        self._environment.globals |= {"head": self._head, "script": self._script}

    def render(self, name: str, /, **values: object) -> str:
        """Fill a template with what it is to show."""
        self._heads.clear()
        compiled = False
        try:
            template = self._environment.get_template(name)  # which calculates what is constant
            compiled = True
            text = template.render(**values)
            text.encode()  # a template may write half a character: "\ud800"
            self._check_policy(name, text)
        except (AuditError, AssertionError):
            raise
        except Exception as error:
            message = self._message_of(error, name, compiled=compiled)
            if message is None:
                raise
            raise TemplateError(message) from None
        return text

    def _message_of(self, error: Exception, name: str, *, compiled: bool) -> str | None:
        """What is wrong with a template; None if the mistake is ours."""
        match error:
            case TemplateNotFound():
                return f"{error.name}: there is no such template in {self._places()}"
            case TemplateSyntaxError():
                return f"{error.filename}:{error.lineno}: {error.message}"
            case UnicodeEncodeError():
                return f"{name}: writes what is not text ({error.reason})"
            case SyntaxError():  # of the Python that the template was compiled to
                return f"{name}: is nested too deeply ({error.msg})"
            case MemoryError():
                return f"{name}: the page takes too much memory"
        place = self._place(error)
        if isinstance(error, RecursionError):
            return f"{place or name}: the template includes or calls itself endlessly"
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        by_jinja = Path(last).parent.name == "jinja2"  # such as of a filter without a text
        if place is None and (isinstance(error, OSError) or (compiled and not by_jinja)):
            return None
        return f"{place or name}: {error}"

    def macros(self, name: str, /, **values: object) -> Any:
        """The macros of one of our own templates, as functions that return markup."""
        return self._environment.get_template(name).make_module(values)

    def lines(self, name: str, macro: str, /, *given: object, **values: object) -> list[str]:
        """What a macro of one of our own templates says, as lines of text without markup.

        A template that says something with its own macros asks for their text in the same way.
        """

        def say(macro: str, *given: object) -> list[str]:
            return [
                unescape(line) for line in str(getattr(macros, macro)(*given)).split("\n") if line
            ]

        macros = self.macros(name, lines=say, **values)
        return say(macro, *given)

    def piece(self, name: str) -> bytes:
        path = self._find(name)
        if path is None:
            raise TemplateError(f"{name}: there is no such piece in {self._places()}")
        try:
            return path.read_bytes()
        except OSError as error:
            raise TemplateError(f"{path}: cannot be read ({error.strerror})") from None

    def has(self, name: str) -> bool:
        return self._find(name) is not None

    def names(self, inside: str) -> tuple[str, ...]:
        """The names of the files in a folder of the templates."""
        paths = (path for folder in self.folders for path in (folder / inside).glob("*"))
        return tuple(sorted({path.name for path in paths if path.is_file()}))

    def text(self, name: str) -> str:
        try:
            return self.piece(name).decode("utf-8")
        except UnicodeDecodeError:
            raise TemplateError(f"{name}: is not text in UTF-8") from None

    def section(self, name: str, root: type[S]) -> S:
        """What a TOML file says, such as a legal profile; its first mistake is named by its key."""
        try:
            return root.model_validate(read_toml(self.text(name)))
        except ValidationError as error:
            raise TemplateError(f"{name}: {first_problem(error, root)}") from None
        except ValueError as error:
            raise TemplateError(f"{name}: is not valid TOML ({error}); fix that line") from None

    @cached_property
    def digest(self) -> str:
        """A digest of all files, with the user's in place of ours."""
        names = {
            path.relative_to(folder).as_posix()
            for folder in self.folders
            for path in folder.rglob("*")
            if path.is_file()
        }
        found = hashlib.sha256()
        for name in sorted(names):
            found.update(f"{name} {hashlib.sha256(self.piece(name)).hexdigest()}\n".encode())
        return found.hexdigest()

    def _head(self, *styles: str, script: str | list[str] | None = None) -> Markup:
        """The policy and the style sheets for the head of a page; it may have several scripts."""
        sheet = "\n".join(self.text(name) for name in styles)
        allowed = {"default-src": "'none'", "style-src": _hashed(sheet), "base-uri": "'none'"}
        allowed |= {"form-action": "'none'"}
        if script is not None:
            scripts = [script] if isinstance(script, str) else script
            allowed["script-src"] = " ".join(_hashed(self.text(name)) for name in scripts)
        policy = "; ".join(f"{name} {value}" for name, value in allowed.items())
        head = Markup(
            '<meta http-equiv="Content-Security-Policy" content="{}">\n<style>{}</style>'
        ).format(policy, Markup(sheet))  # noqa: S704  # our own style sheet
        self._heads.add(str(head))
        return head

    def _check_policy(self, name: str, page: str) -> None:
        """Refuse a page that a browser could load something for before it knows the policy."""
        if not name.startswith(PAGES):
            return
        places = [(page.find(head), len(head)) for head in self._heads if head in page]
        if not places:
            raise TemplateError(f"{name}: calls no head(…), so the page would have no policy")
        start, length = min(places)
        if not _BEFORE.fullmatch(page, 0, start) or _META.search(page, start + length):
            raise TemplateError(
                f"{name}: head(…) must follow <head>, with nothing but <meta> and <title> in "
                "between, and no <meta> after it"
            )

    def _script(self, name: str) -> Markup:
        return Markup("<script>{}</script>").format(Markup(self.text(name)))  # noqa: S704

    def _source(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        """The text and the path of a template, which lies inside one of the folders."""
        path = self._find(name)
        return None if path is None else (self.text(name), str(path), lambda: True)

    def _find(self, name: str) -> Path | None:
        for folder in self.folders:
            path = (folder / name).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                return path
        return None

    def _places(self) -> str:
        return " or ".join(str(folder) for folder in self.folders)

    def _place(self, error: Exception) -> str | None:
        """File and line of the innermost template that raised the error."""
        folders = [folder.resolve() for folder in self.folders]
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            path = Path(frame.filename)
            if any(path.is_relative_to(folder) for folder in folders):
                return f"{path}:{frame.lineno}"
        return None


@cache
def our_templates() -> Templates:
    """Our own templates, compiled once: for texts that no page of the user's says otherwise."""
    return Templates()


def _format_filter(name: str) -> Callable[..., str]:
    @pass_context
    def write(context: Context, value: object, *given: object) -> str:
        words = context["words"] if "words" in context else context["view"].words
        return str(getattr(words, name)(value, *given))

    return write


def _with_capital(text: str) -> str:
    """A sentence with its first letter as a capital; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def _hashed(text: str) -> str:
    value = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{value}'"
