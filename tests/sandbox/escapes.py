"""Tries to get out of a sandbox. Run as a script inside one: ``escapes.py FACTS`` prints what each try came to.

A try returns without an exception, and with something true, when it got out. Each has a process and three seconds of
its own. What only shows outside (a file that appears, a process that is gone) is looked at by ``test_escapes.py``.
Imports nothing of ours.
"""

import contextlib
import ctypes
import json
import mmap
import os
import re
import resource
import signal
import socket
import struct
import sys
import time
from pathlib import Path

F = {}
LIBC = ctypes.CDLL(None, use_errno=True)
TRIES = {}
X86 = os.uname().machine == "x86_64"


def attempt(function):
    TRIES[function.__name__] = function
    return function


def several(names):
    """Make a try of each (name, function)."""
    TRIES.update(names)


def call(*arguments):
    """Make a system call by its number on x86-64; elsewhere it counts as held."""
    if not X86 or LIBC.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "held")
    return True


def write_same(path):
    """Write what is there already: if that can be done at all, nothing of the machine has changed."""
    return write(path, data=Path(path).read_bytes())


def write(path, flags=os.O_WRONLY, data=b"out"):
    descriptor = os.open(path, flags, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)
    return True


def read(path):
    with open(path, "rb") as file:
        return bool(file.read(1))


def outside(name):
    return os.path.join(F["outside"], name)


CREATE = os.O_WRONLY | os.O_CREAT
several(
    {
        "write a file outside": lambda: write(outside("file")),
        "append to a file outside": lambda: write(outside("file"), os.O_WRONLY | os.O_APPEND),
        "truncate a file outside": lambda: os.truncate(outside("file"), 0) is None,
        "remove a file outside": lambda: os.unlink(outside("file")) is None,
        "rename a file outside": lambda: os.rename(outside("file"), outside("other")) is None,
        "rename over a file outside": lambda: write("mine", CREATE) and os.rename("mine", outside("file")) is None,
        "create a file outside": lambda: write(outside("made"), CREATE),
        "make a folder outside": lambda: os.mkdir(outside("folder")) is None,
        "make a link outside": lambda: os.symlink("/etc/passwd", outside("link")) is None,
        "make a pipe outside": lambda: os.mkfifo(outside("pipe")) is None,
        "hard link a file outside and write": lambda: os.link(outside("file"), "hard") is None and write("hard"),
        "write through a link": lambda: os.symlink(outside("file"), "soft") is None and write("soft"),
        "write by dots": lambda: write(f"../{'../' * 20}{outside('file')}"),
        "write by /proc/self/root": lambda: write(f"/proc/self/root{outside('file')}"),
        "write by /proc/self/cwd": lambda: write("/proc/self/cwd/../outside/file"),
        "read a file outside": lambda: read(outside("file")),
        "list a folder outside": lambda: bool(os.listdir(F["outside"])),
        "read a file of the home": lambda: read(F["home_file"]),
        "read the shadow file": lambda: read("/etc/shadow"),
        "read the machine's id": lambda: read("/etc/machine-id"),
        "read keys of the machine": lambda: bool(os.listdir("/etc/ssh")),
        "read the list of mounts' devices": lambda: bool(os.listdir("/dev/disk")),
        "write into /etc": lambda: write("/etc/ai-rails-escape", CREATE),
        "write into /usr/bin": lambda: write("/usr/bin/ai-rails-escape", CREATE),
        "write into /usr/local": lambda: write("/usr/local/ai-rails-escape", CREATE),
        "write over the interpreter": lambda: write(os.path.realpath(sys.executable)),
        "write into the interpreter's packages": lambda: write(
            os.path.join(os.path.dirname(os.__file__), "x.py"), CREATE
        ),
        "change the mode of a file outside": lambda: (
            os.chmod(outside("file"), 0o777) or os.stat(outside("file")).st_mode & 2
        ),
        "change the owner of a file outside": lambda: (
            os.chown(outside("file"), 1, 1) or os.stat(outside("file")).st_uid == 1
        ),
        "change the times of a file outside": lambda: (
            os.utime(outside("file"), (1, 1)) is None and os.stat(outside("file")).st_mtime == 1
        ),
        "set an attribute of a file outside": lambda: (
            os.setxattr(outside("file"), "user.x", b"1") is None and os.getxattr(outside("file"), "user.x")
        ),
        "write a git hook": lambda: write(".git/hooks/pre-commit", CREATE),
        "write git's configuration": lambda: write(".git/config", os.O_WRONLY | os.O_APPEND),
        "rename git's folder": lambda: os.rename(".git", "git") is None and not F["linked"],
        "remove git's head": lambda: os.unlink(".git/HEAD") is None,
        "write into our own state": lambda: write(".rails/forged", CREATE),
        "write into the virtual environment": lambda: write(".venv/bin/planted", CREATE),
    }
)
several(
    {
        "read the environment of a process": lambda: read(f"/proc/{F['victim']}/environ"),
        "read the memory of a process": lambda: read(f"/proc/{F['victim']}/mem"),
        "read the files of a process": lambda: bool(os.listdir(f"/proc/{F['victim']}/root{F['outside']}")),
        "read the folder of a process": lambda: bool(os.listdir(f"/proc/{F['victim']}/cwd")),
        "read the descriptors of a process": lambda: bool(os.readlink(f"/proc/{F['victim']}/fd/0")),
        "choose a process for the killer": lambda: write(f"/proc/{F['victim']}/oom_score_adj", data=b"1000"),
        "set the handler of cores": lambda: write_same("/proc/sys/kernel/core_pattern"),
        "set a limit of the kernel": lambda: write_same("/proc/sys/kernel/panic"),
        "pull the system's trigger": lambda: write("/proc/sysrq-trigger", data=b"?"),
        "write into /sys": lambda: write_same("/sys/kernel/uevent_helper"),
        "join a control group": lambda: (
            write("/sys/fs/cgroup/cgroup.procs", data=b"0") if os.path.exists("/sys/fs/cgroup/cgroup.procs") else 0
        ),
        "open a disk": lambda: any(
            read(f"/dev/{name}") for name in ("vda", "sda", "nvme0n1") if os.path.exists(f"/dev/{name}")
        ),
        "open the machine's memory": lambda: read("/dev/mem"),
        "write into the kernel's log": lambda: write("/dev/kmsg"),
        "open the terminal": lambda: write("/dev/tty"),
        "make a device": lambda: os.mknod("disk", 0o60600, os.makedev(8, 0)) is None,
        "make a whiteout": lambda: os.mknod("white", 0o20000, 0) is None and F["overlay"],
        "make a folder opaque": lambda: (
            os.mkdir("o") or os.setxattr("o", "user.overlay.opaque", b"y")
        ),  # looked at outside
        "make a folder opaque as root does": lambda: (
            os.mkdir("q")
            or os.setxattr("q", "trusted.overlay.opaque", b"y")
            or os.getxattr("q", "trusted.overlay.opaque")
        ),
        "redirect a folder of the overlay": lambda: (
            os.mkdir("r") or os.setxattr("r", "user.overlay.redirect", b"/etc") or os.path.exists("r/passwd")
        ),
    }
)


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(1)
        one.connect(address)
    return True


def send(family, address, data=b"out"):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        one.sendto(data, address)
    return False  # whether it arrived is seen outside


DNS = struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + b"\x06secret\x07example\x00\x00\x01\x00\x01"
several(
    {
        "reach a server of this machine": lambda: connect(socket.AF_INET, ("127.0.0.1", F["tcp"])),
        "reach it by its other address": lambda: connect(socket.AF_INET6, ("::1", F["tcp"])),
        "send to this machine": lambda: send(socket.AF_INET, ("127.0.0.1", F["udp"])),
        "ask a name server": lambda: send(socket.AF_INET, ("127.0.0.1", F["udp"]), DNS),
        "reach the service of metadata": lambda: connect(socket.AF_INET, ("169.254.169.254", 80)),
        "send to everybody": lambda: send(socket.AF_INET, ("255.255.255.255", F["udp"])),
        "open a raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
        "open a packet socket": lambda: socket.socket(17, socket.SOCK_RAW, 3),
        "open a socket to the host": lambda: socket.socket(40, socket.SOCK_STREAM),
        "open a socket of the kernel's crypto": lambda: socket.socket(38, socket.SOCK_SEQPACKET),
        "reach a unix socket": lambda: connect(socket.AF_UNIX, F["unix"]),
        "reach an abstract unix socket": lambda: connect(socket.AF_UNIX, "\0" + F["abstract"]),
        "send to a unix socket": lambda: send(socket.AF_UNIX, F["unix"] + "d"),
    }
)


def same_process():
    """Whether the victim's number means the victim here."""
    if os.readlink("/proc/self/ns/pid") != F["space"]:
        raise OSError("another namespace")
    return F["victim"]


several(
    {
        "kill a process": lambda: os.kill(F["victim"], signal.SIGKILL) is None and same_process(),
        "kill it by a descriptor": lambda: (
            signal.pidfd_send_signal(os.pidfd_open(F["victim"]), signal.SIGKILL) is None and same_process()
        ),
        "kill its group": lambda: os.killpg(F["victim"], signal.SIGKILL) is None and same_process(),
        "trace a process": lambda: call(101, 16, F["victim"], 0, 0) and same_process(),
        "read a process's memory by number": lambda: call(310, F["victim"], 0, 0, 0, 0, 0) and same_process(),
        "take a descriptor of a process": lambda: call(438, os.pidfd_open(F["victim"]), 0, 0) and same_process(),
        "set the limits of a process": lambda: (
            resource.prlimit(F["victim"], resource.RLIMIT_NOFILE, (8, 8)) and same_process()
        ),
        "set the priority of a process": lambda: (
            os.setpriority(os.PRIO_PROCESS, F["victim"], 19) is None and same_process()
        ),
        "move a process to a processor": lambda: os.sched_setaffinity(F["victim"], {0}) is None and same_process(),
        "make a user namespace": lambda: call(272, 0x10000000),
        "make a mount namespace": lambda: call(272, 0x20000),
        "clone into a user namespace": lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0),
        "enter a namespace": lambda: call(308, os.open(f"/proc/{F['victim']}/ns/mnt", os.O_RDONLY), 0),
        "mount": lambda: LIBC.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0,
        "mount the project anew": lambda: LIBC.mount(None, os.getcwd().encode(), None, 32, None) == 0,
        "unmount": lambda: LIBC.umount2(os.getcwd().encode(), 2) == 0,
        "open a tree of mounts": lambda: call(428, -100, b"/", 1),
        "change the root": lambda: LIBC.chroot(b"/tmp") == 0,
        "open by handle": lambda: call(304, -100, b"\0" * 128, 0),
        "add a key": lambda: call(248, b"user", b"ai-rails", b"x", 1, -4),
        "load a program into the kernel": lambda: call(321, 0, b"\0" * 128, 128),
        "watch events of the processor": lambda: call(298, b"\0" * 128, 0, -1, -1, 0),
        "use the kernel's rings": lambda: call(425, 8, b"\0" * 128),
        "handle faults of memory": lambda: call(323, 0),
        "load a module": lambda: call(175, b"", 0, b""),
        "swap to a file": lambda: call(167, b"/dev/null", 0),
        "name the machine": lambda: LIBC.sethostname(b"escaped", 7) == 0,
        "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, 0) is None,
        "gain a capability": lambda: int(re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())[1], 16),
        "gain privileges by a program": lambda: LIBC.prctl(39, 0, 0, 0, 0) == 0,
        "type into the terminal": lambda: __import__("fcntl").ioctl(0, 0x5412, b"x") is not None,
        "attach shared memory": lambda: call(30, F["shm"], 0, 0) if F["shm"] >= 0 and F["space"] else 0,
        "find the home in the environment": lambda: "canary" in json.dumps(dict(os.environ)),
        "find the arguments of a process": lambda: read(f"/proc/{F['victim']}/cmdline") and F["namespaces"],
        "preload a library into the next program": lambda: os.environ.get("LD_PRELOAD"),
        "take all memory": lambda: bool(bytearray(8 << 30)),
        "take shared memory without end": lambda: bool(mmap.mmap(-1, 80 << 30)),
        "write a file without end": lambda: os.truncate(os.open("big", os.O_CREAT | os.O_WRONLY), 4 << 30) is None,
        "open files without end": lambda: len([os.open("/dev/null", os.O_RDONLY) for _ in range(10_000)]),
    }
)


def reopened(path):
    """Open to read, then the same file by its descriptor to write what is there already."""
    with open(path, "rb") as file:
        return write(f"/proc/self/fd/{file.fileno()}", data=file.read(1))


def opened(path, work):
    """Do something with a file that is open to be read; what it did is seen outside."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        work(descriptor)
    finally:
        os.close(descriptor)
    return False


def flags_of(descriptor):
    """Set the flags of a file to what they are, but one (no dump) that harms nothing."""
    import fcntl

    now = struct.unpack("I", fcntl.ioctl(descriptor, 0x80086601, b"\0" * 8)[:4])[0]
    fcntl.ioctl(descriptor, 0x40086602, struct.pack("II", now | 0x40, 0))


def readable(path):
    with contextlib.suppress(OSError):
        return read(path)


def inherited():
    """Return whether a descriptor is open that leads out: a folder, a socket or a file that is not the script's own."""
    for name in os.listdir("/proc/self/fd"):
        place = (
            os.readlink(f"/proc/self/fd/{name}") if int(name) > 2 and os.path.lexists(f"/proc/self/fd/{name}") else ""
        )
        if place and not place.startswith(("pipe:", "/proc/", "anon_inode:")):
            return True
    return False


def owned_signal():
    """Have the kernel send a signal for a descriptor to the victim; seen outside."""
    import fcntl

    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, F["victim"])
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")
    return False


def socket_of(family, kind=socket.SOCK_STREAM):
    """Whether a socket of a family that nobody needs can be had."""
    socket.socket(family, kind).close()
    return True


VENV = ".venv/bin/tool"
several(
    {
        "reopen the interpreter to write": lambda: reopened(os.path.realpath(sys.executable)),
        "reopen a file of the virtual environment to write": lambda: reopened(VENV),
        "reopen git's configuration to write": lambda: reopened(".git/config"),
        "change the mode of an open file": lambda: opened(VENV, lambda one: os.fchmod(one, 0o777)),
        "change the mode of git's open file": lambda: opened(".git/config", lambda one: os.fchmod(one, 0o777)),
        "change the owner of an open file": lambda: opened(VENV, lambda one: os.fchown(one, 1, 1)),
        "change the times of an open file": lambda: opened(VENV, lambda one: os.utime(one, (1, 1))),
        "set an attribute of an open file": lambda: opened(VENV, lambda one: os.setxattr(one, "user.x", b"1")),
        "set the flags of an open file": lambda: opened(VENV, flags_of),
        "map an open file to write": lambda: opened(VENV, lambda one: mmap.mmap(one, 1, prot=mmap.PROT_WRITE)),
        "cut an open file": lambda: opened(VENV, lambda one: os.ftruncate(one, 0)),
        "link an open file": lambda: opened(
            outside("file"), lambda one: os.link(f"/proc/self/fd/{one}", "linked", follow_symlinks=True)
        ),
        "make a file without a name outside": lambda: os.open(F["outside"], os.O_TMPFILE | os.O_RDWR, 0o600) > 0,
        "exchange a file with one outside": lambda: (
            write("mine", CREATE) and call(316, -100, b"mine", -100, outside("file").encode(), 2)
        ),
        "look through the first process's root": lambda: read(f"/proc/1/root{outside('file')}"),
        "look through the first process's folder": lambda: read("/proc/1/cwd/../outside/file"),
        "look through every process's root": lambda: any(
            readable(f"/proc/{pid}/root{outside('file')}") for pid in os.listdir("/proc") if pid.isdigit()
        ),
        "use a descriptor that was left open": inherited,
        "watch a folder outside": lambda: (
            call(254, LIBC.inotify_init(), F["outside"].encode(), 0xFFF) and F["namespaces"]
        ),
        "watch the whole file system": lambda: call(301, LIBC.syscall(300, 0, 0), 0x10, 2, -100, b"/"),
        "read the kernel's log": lambda: LIBC.klogctl(3, ctypes.create_string_buffer(64), 64) > 0,
        "list the mounts of the machine": lambda: F["outside"] in Path("/proc/self/mountinfo").read_text(),
        "signal by a descriptor's owner": owned_signal,
        "signal a thread": lambda: call(200, F["victim"], 9) and same_process(),
        "signal a thread of a process": lambda: call(234, F["victim"], F["victim"], 9) and same_process(),
        "queue a signal": lambda: call(129, F["victim"], 9, b"\0" * 128) and same_process(),
        "reach the harness": lambda: os.kill(F["harness"], 0) is None and same_process(),
        "stop the harness's group": lambda: os.killpg(F["harness"], 0) is None and same_process(),
        "lower the priority of all my processes": lambda: os.setpriority(os.PRIO_USER, os.getuid(), 15),  # seen outside
        "compare with a process": lambda: call(312, os.getpid(), F["victim"], 1, 0, 0) and same_process(),
        "open a socket of tipc": lambda: socket_of(30),
        "open a socket of bluetooth": lambda: socket_of(31, socket.SOCK_RAW),
        "open a socket of keys": lambda: socket_of(15, socket.SOCK_RAW),
        "open a socket of rds": lambda: socket_of(21, socket.SOCK_SEQPACKET),
        "open a socket of xdp": lambda: socket_of(44, socket.SOCK_RAW),
        "attach the harness's shared memory": lambda: call(30, F["shm"], 0, 0),
        "remove the harness's shared memory": lambda: call(31, F["shm"], 0, 0),
        "open the harness's memory by name": lambda: read(f"/dev/shm/{F['abstract']}"),
        "ask a name server of the machine": lambda: bool(socket.getaddrinfo("example.org", 80)),
        "reach a server by a name": lambda: connect(socket.AF_INET, ("localhost", F["tcp"])),
        "reach a server by all zeros": lambda: connect(socket.AF_INET, ("0.0.0.0", F["tcp"])),
        "reach a server by a mapped address": lambda: connect(socket.AF_INET6, ("::ffff:127.0.0.1", F["tcp"])),
        "read the key of the log": lambda: read(os.path.expanduser("~/.config/ai-rails/policy.toml")),
        "gain a group": lambda: os.setgroups([0]) is None and F["namespaces"] and os.getgroups() == [0],
        "become another user": lambda: os.setresuid(1, 1, 1) is None,
        "remount the system to write": lambda: LIBC.mount(None, b"/usr", None, 32 | 4096, None) == 0,
        "mount by the new calls": lambda: call(430, b"tmpfs", 0),
        "open a tree with attributes": lambda: call(467, -100, b"/", 1, 0, 0),
    }
)


def tried(function):
    """Return whether a try got out, in a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        got_out = b"-"
        with contextlib.suppress(BaseException):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            signal.alarm(3)
            got_out = b"+" if function() else b"-"
        os.write(writer, got_out)
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 1)
    os.close(reader)
    os.waitpid(pid, 0)
    return answer == b"+"


def main():
    F.update(json.loads(sys.argv[1]))
    print(json.dumps({name: tried(function) for name, function in TRIES.items()}))


if __name__ == "__main__":
    main()
