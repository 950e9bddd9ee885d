"""An endless model ends with one sentence, and Ctrl-C is heard, in every command that asks it."""

import signal
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest

from tests.audits import small_audit
from tests.bundles import PATIENCE, ended, started
from tests.command import command
from tests.onnx_models import endless_network

SOON = 20.0  # seconds, on a machine that may be busy; it would be for ever


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    settings = small_audit(tmp_path)
    endless_network(tmp_path / "model.onnx")
    return settings


def words_after(name: str, settings: Path) -> tuple[str | Path, ...]:
    match name:
        case "explain":
            return ("a",)
        case "run":
            return ("--out", settings.parent / "bundle")
        case _:
            return ()


@pytest.mark.parametrize("name", ["inspect", "explain", "run"])
def test_an_endless_model_ends_with_one_sentence(name: str, endless: Path) -> None:
    done = command(name, endless, *words_after(name, endless), "--timeout", "0.3")
    assert done.code == 2
    *_, last = done.err.splitlines()
    assert last.startswith(f"error: {endless.parent / 'model.onnx'}: the model did not answer")
    assert "within 0.3 seconds" in last
    assert not (endless.parent / "bundle").exists()


def test_the_limit_of_the_settings_holds_without_an_option(endless: Path) -> None:
    text = endless.read_text(encoding="utf-8")
    endless.write_text(text.replace("[model]", "[model]\ntimeout = 0.3"), encoding="utf-8")
    done = command("explain", endless, "a")
    assert done.code == 2
    assert "did not answer a query" in done.err


def busy_besides_the_main_thread(pid: int) -> bool:
    """Whether another thread of a process has worked for half a second: the endless model."""
    threads = psutil.Process(pid).threads()
    return any(one.id != pid and one.user_time + one.system_time > 0.5 for one in threads)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux what threads do")
@pytest.mark.parametrize("name", ["inspect", "explain", "run"])
def test_ctrl_c_is_heard_while_the_model_is_asked(name: str, endless: Path) -> None:
    process = started(name, endless, *words_after(name, endless))
    try:
        until = monotonic() + PATIENCE
        while not busy_besides_the_main_thread(process.pid):
            assert monotonic() < until, "the model is not asked"
            sleep(0.05)
        process.send_signal(signal.SIGINT)
        before = monotonic()
        code, said = ended(process)
    finally:
        process.kill()
        process.communicate()
    assert monotonic() - before < SOON
    assert code == 130
    assert "Traceback" not in said
