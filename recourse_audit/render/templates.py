"""The only door to jinja2: a view and a template become one page that needs no other file.

Style sheets and scripts are written into the page, and its content security policy names each by
its hash, so that a browser runs and loads nothing that is not in the page. Whatever comes from a
graph is escaped; only what has `__html__`, as our pictures do, is not.
"""

import base64
import hashlib
import shutil
import traceback
from pathlib import Path

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2 import TemplateError as Mistake
from markupsafe import Markup

from recourse_audit.errors import TemplateError

PACKAGE = Path(__file__).parents[1]


def template_folder() -> Path:
    """The folder of the templates: inside an installed package, or beside it in a checkout."""
    for folder in (PACKAGE / "_data" / "templates", PACKAGE.parent / "templates"):
        if (folder / "styles").is_dir():
            return folder
    raise TemplateError("this installation lacks its templates; install recourse-audit again")


def eject(folder: Path) -> None:
    """Copy all templates into a new folder, where the user can change them."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
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
        if own is not None and not own.is_dir():
            raise TemplateError(f"{own}: there is no such folder; create one with --eject")
        self.folders = tuple(folder for folder in (own, template_folder()) if folder is not None)
        self._environment = Environment(
            loader=FileSystemLoader(self.folders),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._environment.globals |= {"head": self._head, "script": self._script}

    def render(self, name: str, /, **values: object) -> str:
        """Fill a template with what it is to show."""
        try:
            return self._environment.get_template(name).render(**values)
        except TemplateNotFound as error:
            raise TemplateError(
                f"{error.name}: there is no such template in {self._places()}"
            ) from None
        except TemplateSyntaxError as error:
            raise TemplateError(f"{error.filename}:{error.lineno}: {error.message}") from None
        except UnicodeDecodeError as error:
            # Raised while a template is read, so the traceback has no line of it.
            broken = self._undecodable()
            if broken is None:
                raise
            raise TemplateError(f"{broken}: is not text in UTF-8 ({error.reason})") from None
        except RecursionError as error:
            raise TemplateError(
                f"{self._place(error) or name}: the template includes or calls itself endlessly"
            ) from None
        except (
            Mistake,
            TypeError,
            ValueError,
            AttributeError,
            LookupError,
            ArithmeticError,
        ) as error:
            place = self._place(error)
            if place is None:
                raise
            raise TemplateError(f"{place}: {error}") from None

    def piece(self, name: str) -> bytes:
        """The content of one file of the templates."""
        path = self._found(name)
        if path is None:
            raise TemplateError(f"{name}: there is no such piece in {self._places()}")
        try:
            return path.read_bytes()
        except OSError as error:
            raise TemplateError(f"{path}: cannot be read ({error.strerror})") from None

    def has(self, name: str) -> bool:
        """Whether the templates have a file of this name."""
        return self._found(name) is not None

    def names(self, inside: str) -> tuple[str, ...]:
        """The names of the files in a folder of the templates."""
        return tuple(
            sorted(
                {
                    path.name
                    for folder in self.folders
                    for path in (folder / inside).glob("*")
                    if path.is_file()
                }
            )
        )

    def text(self, name: str) -> str:
        """The content of one text file of the templates."""
        try:
            return self.piece(name).decode("utf-8")
        except UnicodeDecodeError:
            raise TemplateError(f"{name}: is not text in UTF-8") from None

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

    def _head(self, *styles: str, script: str | None = None) -> Markup:
        """The policy and the style sheets for the head of a page."""
        sheet = "\n".join(self.text(name) for name in styles)
        allowed = {"default-src": "'none'", "style-src": _hashed(sheet), "base-uri": "'none'"}
        allowed |= {"form-action": "'none'"}
        if script is not None:
            allowed["script-src"] = _hashed(self.text(script))
        policy = "; ".join(f"{name} {value}" for name, value in allowed.items())
        return Markup(
            '<meta http-equiv="Content-Security-Policy" content="{}">\n<style>{}</style>'
        ).format(policy, Markup(sheet))  # noqa: S704  # our own style sheet

    def _script(self, name: str) -> Markup:
        return Markup("<script>{}</script>").format(Markup(self.text(name)))  # noqa: S704

    def _found(self, name: str) -> Path | None:
        for folder in self.folders:
            path = (folder / name).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                return path
        return None

    def _places(self) -> str:
        return " or ".join(str(folder) for folder in self.folders)

    def _undecodable(self) -> Path | None:
        """The first template, the user's or ours, that is not text."""
        for folder in self.folders:
            for path in sorted(folder.rglob("*.html")):
                try:
                    path.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    return path
        return None

    def _place(self, error: Exception) -> str | None:
        """File and line of the innermost template that raised the error."""
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            path = Path(frame.filename)
            if any(path.is_relative_to(folder) for folder in self.folders):
                return f"{path}:{frame.lineno}"
        return None


def _hashed(text: str) -> str:
    value = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{value}'"
