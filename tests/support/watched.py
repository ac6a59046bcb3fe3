"""A process of its own for cases of `support.fuzzing`: watched, measured, and started anew after a breach.

An audit hook of Python sees imports, files, processes, sockets and code; it does not see what C libraries do by
themselves. Processor time is that of all threads, memory the growth of the resident set at its peak.
"""

import contextlib
import json
import os
import resource
import select
import shutil
import subprocess
import sys
import sysconfig
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path

TESTS = Path(__file__).parents[1]
SECONDS, MIB = 2.0, 512.0
"""Limits of a case, in processor time and memory."""
HARD_MIB, PATIENCE = 4096, 300.0
"""Where the process is stopped: address space beyond the start, and seconds without an answer."""
CODE = ("subprocess.", "socket.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "ctypes.", "pickle.")
PATHS = (
    "os.listdir",
    "os.scandir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "shutil.",
)


@dataclass
class Outcome:
    """What became of a case."""

    kind: str
    seed: int
    seconds: float = 0.0
    mib: float = 0.0
    answer: str = ""
    """The error that the case ended in; "" for none."""
    touched: list[str] = field(default_factory=list)
    """Events of the hook that no file may cause."""
    fault: str = ""
    """The traceback of an error that is not ours, or how the process ended."""

    @property
    def breaches(self) -> list[str]:
        """Names of the limits that it did not keep."""
        limits = {"traceback": self.fault, "touched": self.touched}
        limits |= {"seconds": self.seconds > SECONDS, "memory": self.mib > MIB}
        return [name for name, breach in limits.items() if breach]


class Watch:
    """The hook: notes what a case touches outside of its folder."""

    def __init__(self, folder, *readable):
        roots = {*readable, sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), TESTS, TESTS.parent / "src"}
        self.readable = (
            *(os.path.realpath(root) + os.sep for root in roots),
            "/proc/self/",
            "/dev/null",
            "/sys/devices/",
        )
        self.folder, self.modules = os.path.realpath(folder), sys.stdlib_module_names | {*map(root_of, sys.modules)}
        self.is_on, self.touched = False, []
        sys.addaudithook(self)

    def __call__(self, event, arguments):
        """Note an event that is not allowed."""
        if self.is_on and not self.is_allowed(event, arguments):
            self.touched.append(f"{event} {arguments!r:.200}")

    def is_allowed(self, event, arguments):
        """Return True for what a case may do."""
        if event == "import":
            return root_of(arguments[0]) in self.modules
        if event == "open":
            path, mode, flags = arguments
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or (mode and set(mode) & set("wax+"))
            return isinstance(path, int) or self.is_here(path) or (not writes and self.is_installed(path))
        if event in ("exec", "compile"):  # "<unknown>": parsed by `ast.literal_eval`, and not run
            name = arguments[1] if event == "compile" else arguments[0].co_filename
            return (event == "compile" and name == "<unknown>") or self.is_installed(name)
        if event.startswith(PATHS):
            path = arguments[0]
            return path is None or isinstance(path, int) or self.is_here(path) or self.is_installed(path)
        return not event.startswith(CODE)

    def is_here(self, path):
        """Return True for the folder of the case and what is in it."""
        return f"{os.path.realpath(os.fsdecode(path))}{os.sep}".startswith(self.folder + os.sep)

    def is_installed(self, path):
        """Return True for files of Python, its packages and this one."""
        return isinstance(path, str | bytes | os.PathLike) and os.path.realpath(os.fsdecode(path)).startswith(
            self.readable
        )


def root_of(module):
    return module.partition(".")[0]


def memory(name):
    """An entry of the process's status in MiB."""
    return float(Path("/proc/self/status").read_text(encoding="utf-8").partition(f"{name}:")[2].split()[0]) / 1024


def processor_time():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measured(outcome, action, watch):
    """Run a case and note time, memory, what it touched and how it ended."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins anew
    before, begun, watch.touched, watch.is_on = memory("VmRSS"), processor_time(), outcome.touched, True
    try:
        outcome.answer = action() or ""
    except BaseException:
        outcome.fault = traceback.format_exc()
    watch.is_on, outcome.seconds = False, processor_time() - begun
    outcome.mib = memory("VmHWM") - before


def serve(work):
    """Answer lines of kind and seed by outcomes, until there are no more."""
    from support import fuzzing

    answers, sys.stdout = sys.stdout, sys.stderr
    folder = work / "case"
    bases = fuzzing.Bases(work / "bases")
    for kind in fuzzing.KINDS:
        fuzzing.intact(kind, bases, fresh(folder))
    watch = Watch(folder, work / "bases")
    space = int(memory("VmSize") + HARD_MIB) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    os.chdir(fresh(folder))
    sys.path.insert(0, "")  # as in a notebook: modules that lie beside a model could be imported
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        kind, seed = json.loads(line)
        outcome = Outcome(kind, seed)
        measured(outcome, fuzzing.prepared(kind, seed, bases, fresh(folder)), watch)
        print(json.dumps(asdict(outcome)), file=answers, flush=True)


def fresh(folder):
    """An empty folder; the same one, as processes stand in it."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return folder


class Watched:
    """Runs cases one after the other in such a process."""

    def __init__(self, work):
        self.work, self.process = Path(work), None

    def run(self, kind, seed):
        """The outcome of a case."""
        try:
            if self.process is None:
                self._start()
            self.process.stdin.write(json.dumps([kind, seed]) + "\n")
            self.process.stdin.flush()
            outcome = Outcome(**json.loads(self._line()))
        except (TimeoutError, BrokenPipeError, json.JSONDecodeError) as error:
            code = self.close()
            return Outcome(kind, seed, fault=f"no answer: {type(error).__name__}, exit code {code}")
        if {"seconds", "memory"} & {*outcome.breaches}:
            self.close()
        return outcome

    def _start(self):
        (self.work / "tmp").mkdir(exist_ok=True)
        path = os.pathsep.join(map(str, (TESTS, TESTS.parent / "src", os.environ.get("PYTHONPATH", ""))))
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "TMPDIR": str(self.work / "case")}
        with (self.work / "stderr").open("a") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-B", "-m", "support.watched", str(self.work)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self._line() == "ready\n", (self.work / "stderr").read_text()

    def _line(self):
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise TimeoutError
        return self.process.stdout.readline()

    def close(self):
        """End the process."""
        if self.process is not None:
            process, self.process = self.process, None
            process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.communicate()
            return process.returncode
        return None


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
