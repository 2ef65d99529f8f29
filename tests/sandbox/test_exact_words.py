"""What bubblewrap and the kernel are asked for, word by word, on every machine: nothing is started here."""

import errno
import os
from pathlib import Path

import pytest

from rails.core.errors import CheckError
from rails.core.restrictions import Restrictions
from rails.sandbox import bubblewrap, seccomp
from rails.sandbox.copied import CopyLayer
from rails.sandbox.layer import Layer
from rails.sandbox.overlay import OverlayLayer
from rails.sandbox.places import contained_environment
from rails.sandbox.view import HOST, Label, Result, SandboxLimits, SandboxView

#: Where the system's programs and libraries are, shown as the machine has them: as links or read-only.
SYSTEM = [
    word
    for place in map(Path, ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"))
    if place.exists() or place.is_symlink()
    for word in (
        ("--symlink", os.readlink(place), str(place)) if place.is_symlink() else ("--ro-bind", str(place), str(place))
    )
]
#: What a command sees of /etc besides three files of ours.
ETC = "ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime timezone nsswitch.conf ssl/certs ssl/openssl.cnf"
ETC = f"{ETC} ca-certificates.conf pki mime.types protocols services".split()
CLOSED = Restrictions.parsed(b"closed/\n*.key\n")


@pytest.fixture
def furnished(project, monkeypatch):
    """A project with everything that is mounted by itself; two further folders to read."""
    for folder in (".git", ".rails", "node_modules", "closed/deep", "src/closed"):
        (project / folder).mkdir(parents=True)
    (project / "a.key").touch()
    (project / ".venv").symlink_to("/nowhere")
    monkeypatch.setattr(bubblewrap, "roots", lambda view: [Path("/opt/one"), Path("/opt/two")])
    monkeypatch.setattr(bubblewrap, "find", lambda: "/found/bwrap")
    monkeypatch.setattr(bubblewrap, "_prepare", lambda *words, **named: (words, named))
    return project


def mounted(layer, project, *, writes):
    """Return the mounts that a command of this layer is to have, one list for each."""
    p = str(project)
    bind = ["--ro-bind"]
    return [
        [*bind, "/usr", "/usr"],
        SYSTEM,
        ["--proc", "/proc", "--dev", "/dev", "--size", "1073741824", "--tmpfs", "/dev/shm"],
        ["--size", "1073741824", "--tmpfs", "/tmp", "--dir", "/tmp/home"],
        [*bind, str(layer.etc), "/etc"],
        *([*bind, f"/etc/{name}", f"/etc/{name}"] for name in ETC if Path("/etc", name).is_dir()),
        [*bind, str(layer.output), "/tmp/output"],
        ["--ro-bind-try", "/opt/one", "/opt/one", "--ro-bind-try", "/opt/two", "/opt/two"],
        ["--bind" if writes else "--ro-bind", str(layer.root), p],
        *([*bind, f"{p}/{name}", f"{p}/{name}"] for name in ((".git", "node_modules") if writes else ())),
    ]


def hidden(layer, project):
    p = str(project)
    return [
        *("--tmpfs", f"{p}/.rails", "--remount-ro", f"{p}/.rails"),
        *("--tmpfs", f"{p}/closed", "--remount-ro", f"{p}/closed"),
        *("--ro-bind", str(layer.empty), f"{p}/a.key"),
        *("--tmpfs", f"{p}/src/closed", "--remount-ro", f"{p}/src/closed"),
    ]


END = ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]


@pytest.mark.parametrize(("kind", "writes", "hides"), [(OverlayLayer, 1, 1), (CopyLayer, 1, 0), (Layer, 0, 1)])
@pytest.mark.parametrize("socket", [None, Path("/run/of/proxy")])
def test_a_command_gets_these_namespaces_mounts_and_nothing_else(furnished, kind, writes, hides, socket):
    project = furnished
    limits, join = SandboxLimits(seconds=3), lambda: None
    with kind(project, restrictions=CLOSED) as layer:
        view = SandboxView(project, layer, environment={"ADDED": "1"}, folder="src")
        launch = bubblewrap.launch(["prog", "-x"], view, limits, join=join, socket=socket, status=77)
        filtered = launch.keep[0]
        try:
            environment = contained_environment(view, socket=socket)
            assert launch.argv == (
                "/found/bwrap",
                *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"),
                *("--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
                *("--json-status-fd", "77", "--seccomp", str(filtered)),
                *(word for mount in mounted(layer, project, writes=writes) for word in mount),
                *(hidden(layer, project) if hides else ()),
                *(("--bind", "/run/of/proxy", "/tmp/proxy") if socket else ()),
                *END,
                *("--chdir", f"{project}/src"),
                *(word for name, value in environment.items() for word in ("--setenv", name, value)),
                *("--", "prog", "-x"),
            )
            assert (environment["ADDED"], environment["HOME"], "http_proxy" in environment) == (
                *("1", "/tmp/home"),
                bool(socket),
            )
            assert launch.keep == (filtered, 77)
            assert (launch.environment, launch.folder, launch.supervised) == ({}, layer.folder, False)
            assert launch.prepare == ((limits, join), {"overlaid": kind is OverlayLayer})
            # At its beginning, and gone in whatever is started without being asked to keep it.
            assert os.read(filtered, 1 << 20) == seccomp.syscall_filter(namespaces=True)
            assert not os.get_inheritable(filtered)
        finally:
            os.close(filtered)


class Asked:
    """A C library and an ``os`` that note what they are asked for; ``refused`` is the one call that fails."""

    O_WRONLY, O_CLOEXEC, strerror = os.O_WRONLY, os.O_CLOEXEC, staticmethod(os.strerror)

    def __init__(self, refused=""):
        self.calls, self._refused = [], refused

    def _note(self, *call):
        self.calls.append(call)
        return -1 if call[:2] == self._refused or call[:1] == (self._refused,) else 0

    def _exit(self, code):
        raise SystemExit(code)

    def geteuid(self):
        return 1234

    def getegid(self):
        return 5678

    def unshare(self, flags):
        return self._note("unshare", flags)

    def mount(self, source, *rest):
        return self._note("mount", source, *rest)

    def open(self, place, flags):
        self._note("open", place, flags)
        return 9

    def write(self, descriptor, text):
        self._note("write", descriptor, text)

    def close(self, descriptor):
        self._note("close", descriptor)


def asked(monkeypatch, refused="", *, overlaid=True):
    found = Asked(refused)
    monkeypatch.setattr(bubblewrap, "libc", lambda: found)
    monkeypatch.setattr(bubblewrap, "os", found)
    monkeypatch.setattr(bubblewrap.bounds, "bound_process", lambda limits: found._note("limits", limits))
    monkeypatch.setattr(bubblewrap.bounds, "bound_processes", lambda most: found._note("processes", most))
    monkeypatch.setattr(bubblewrap.ctypes, "get_errno", lambda: errno.EPERM)
    prepare = bubblewrap._prepare(SandboxLimits(processes=33), lambda: found._note("join"), overlaid=overlaid)
    assert found.calls == []
    return found, prepare


@pytest.mark.parametrize("overlaid", [True, False])
def test_before_bubblewrap_a_process_bounds_itself_and_makes_a_namespace_where_it_is_nobody_else(monkeypatch, overlaid):
    found, prepare = asked(monkeypatch, overlaid=overlaid)
    prepare()
    written = [
        call
        for name, text in (("setgroups", b"deny"), ("uid_map", b"0 1234 1"), ("gid_map", b"0 5678 1"))
        for call in (
            ("open", f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC),
            ("write", 9, text),
            ("close", 9),
        )
    ]
    assert found.calls == [
        ("join",),
        ("limits", SandboxLimits(processes=33)),
        ("unshare", 0x10020000),  # CLONE_NEWUSER | CLONE_NEWNS
        *written,
        ("processes", 33),
        ("mount", None, b"/", None, 0x44000, None),  # MS_REC | MS_PRIVATE
        *([("mount", b"overlay", b"merged", b"overlay", 6, OverlayLayer.OPTIONS)] if overlaid else []),
    ]
    assert OverlayLayer.OPTIONS == b"lowerdir=lower,upperdir=upper,workdir=work,userxattr"


@pytest.mark.parametrize(
    ("refused", "said", "last"),
    [
        ("unshare", "no user namespace", ("unshare", 0x10020000)),
        (("mount", None), "no private mounts", ("mount", None, b"/", None, 0x44000, None)),
        (("mount", b"overlay"), "no overlay", ("mount", b"overlay", b"merged", b"overlay", 6, OverlayLayer.OPTIONS)),
    ],
)
def test_what_the_kernel_refuses_ends_the_process_before_bubblewrap(monkeypatch, refused, said, last):
    found, prepare = asked(monkeypatch, refused)
    with pytest.raises(SystemExit):
        prepare()
    (told,) = [call[2] for call in found.calls if call[:2] == ("write", 2)]
    assert told.decode().startswith(f"{said}: {os.strerror(errno.EPERM)}. In Docker: ")
    assert found.calls[-2] == last


def test_whether_the_command_was_started_is_read_from_the_report():
    assert bubblewrap.first_process(b'{ "child-pid": 4711, "net-namespace": 1 }\n') == 4711
    assert bubblewrap.first_process(b"") == 0
    bubblewrap.check_status(b'{"child-pid": 1}', "words of the command itself")
    for errors, words in (
        ("one\n  bwrap: no way \n\n", "  bwrap: no way"),
        ("", "it said nothing"),
        ("x" * 400, "x" * 300),
    ):
        with pytest.raises(CheckError) as raised:
            bubblewrap.check_status(b'{"exit-code": 1}', errors)
        assert str(raised.value) == f"The sandbox could not be made: {words}. Nothing was run."


def test_a_commands_bounds_and_how_it_ended_are_told_exactly(tmp_path):
    assert SandboxLimits() == SandboxLimits(120.0, 4 << 30, 1 << 30, 4 << 30, 512, 1_000_000)
    view = SandboxView(tmp_path)
    assert (view.layer, view.read_only, view.environment, view.folder) == (None, (), {}, ".")
    fine = Result(0, "out")
    assert (fine.err, fine.timed_out, fine.printed, fine.seconds, fine.left_out) == ("", False, 0, 0.0, ())
    assert not fine.changes
    ended = [Result(0, ""), Result(1, ""), Result(-9, ""), Result(0, "", timed_out=True, seconds=1.23456)]
    assert [(one.ok, one.status) for one in ended] == [
        (True, "exit code 0"),
        (False, "exit code 1"),
        (False, "ended by signal 9"),
        (False, "stopped after 1.23 s (the time limit)"),
    ]


def test_a_label_says_what_holds_and_what_does_not():
    labels = [
        Label(3, "bubblewrap"),
        Label(2, "x", ("network",)),
        Label(1, "Landlock", ("names", "files")),
        Label(1, "y"),
        Label(0, why="there is none"),
    ]
    assert [(one.contained, str(one)) for one in labels] == [
        (True, "contained: files, network, processes (bubblewrap)"),
        (False, "contained: files, processes (x). Not contained: network"),
        (False, "contained: network, processes (Landlock). Not contained: names, files"),
        (False, "contained: files, network, processes (y)"),
        (False, "NOT contained: commands run as you, because there is none"),
    ]
    assert Label(2).contained


def test_a_host_is_a_name_perhaps_with_a_star_and_a_port():
    longest = "a" * 251
    for name in ("a", "example.org", "*.example.org", "10.0.0.1:8080", "x:1", "x:65535", longest):
        assert HOST.fullmatch(name), name
    for name in ("", "*", "*.", ".a", "-a", "a b", "a:", "a:123456", "a/b", "*.*.a", "a@b", "é.org", f"{longest}a"):
        assert not HOST.fullmatch(name), name
