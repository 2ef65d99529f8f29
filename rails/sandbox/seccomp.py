"""A system-call filter as the kernel's bytes.

Blocked: namespaces, mounts, tracing, keys, BPF, io_uring, TIOCSTI, rare socket families. At level 1 also all sockets,
System V IPC, limits of others; changes of modes, owners, times and attributes, which Landlock lets through, do nothing
and report success, as copying a file must not fail.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from functools import cache
from typing import Final

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_ERRNO: Final = 0x00050000
_ARGUMENTS: Final = 16
#: CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_NAMESPACES: Final = 0x7E020000
#: AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: the network namespace has only a loopback of its own.
_FAMILIES: Final = (1, 2, 10, 16)
#: TIOCSTI, TIOCLINUX; what sets a file's flags (FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR).
_IOCTLS: Final = (0x5412, 0x541C, 0x40086602, 0x401C5820)


#: Numbers that are the same on all architectures that the table knows.
_NEW: Final = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "fchmodat2": 452,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
    "open_tree_attr": 467,
}
_X86_64: Final = {
    "ioctl": 16,
    "socket": 41,
    "clone": 56,
    "ptrace": 101,
    "pivot_root": 155,
    "chroot": 161,
    "acct": 163,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "kexec_load": 246,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
    "fchmod": 91,
    "fchown": 93,
    "fsetxattr": 190,
    "fremovexattr": 199,
    "fchmodat": 268,
    "chown": 92,
    "lchown": 94,
    "chmod": 90,
    "fchownat": 260,
    "utime": 132,
    "utimes": 235,
    "futimesat": 261,
    "utimensat": 280,
    "setxattr": 188,
    "lsetxattr": 189,
    "removexattr": 197,
    "lremovexattr": 198,
    "prlimit64": 302,
    "setpriority": 141,
    "sched_setscheduler": 144,
    "sched_setparam": 142,
    "ioprio_set": 251,
    "sched_setaffinity": 203,
    "sched_setattr": 314,
    "migrate_pages": 256,
    "move_pages": 279,
    "syslog": 103,
    "shmget": 29,
    "shmat": 30,
    "semget": 64,
    "msgget": 68,
    "shmctl": 31,
    "semctl": 66,
    "msgctl": 71,
    "mq_open": 240,
}
_AARCH64: Final = {
    "ioctl": 29,
    "socket": 198,
    "clone": 220,
    "ptrace": 117,
    "pivot_root": 41,
    "chroot": 51,
    "acct": 89,
    "mount": 40,
    "umount2": 39,
    "swapon": 224,
    "swapoff": 225,
    "reboot": 142,
    "init_module": 105,
    "delete_module": 106,
    "quotactl": 60,
    "kexec_load": 104,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "unshare": 97,
    "perf_event_open": 241,
    "open_by_handle_at": 265,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "finit_module": 273,
    "kexec_file_load": 294,
    "bpf": 280,
    "userfaultfd": 282,
    "fchmod": 52,
    "fchown": 55,
    "fsetxattr": 7,
    "fremovexattr": 16,
    "fchmodat": 53,
    "fchownat": 54,
    "utimensat": 88,
    "setxattr": 5,
    "lsetxattr": 6,
    "removexattr": 14,
    "lremovexattr": 15,
    "prlimit64": 261,
    "setpriority": 140,
    "sched_setscheduler": 119,
    "sched_setparam": 118,
    "ioprio_set": 30,
    "sched_setaffinity": 122,
    "sched_setattr": 274,
    "migrate_pages": 238,
    "move_pages": 239,
    "syslog": 116,
    "shmget": 194,
    "shmat": 196,
    "semget": 190,
    "msgget": 186,
    "shmctl": 195,
    "semctl": 191,
    "msgctl": 187,
    "mq_open": 180,
}
_MACHINES: Final = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}
#: What its arguments decide. All in the tables that is in none of these is refused.
_BY_ARGUMENT: Final = ("clone", "clone3", "ioctl", "fchmod")
#: Without namespaces: what reaches other processes of the same user.
_SHARED: Final = (
    "socket",
    "setpriority",
    "ioprio_set",
    "migrate_pages",
    "move_pages",
    "shmget",
    "shmat",
    "shmctl",
    "semget",
    "semctl",
    "msgget",
    "msgctl",
    "mq_open",
    "process_madvise",
)
#: Without namespaces: only for the process itself (0).
_ITSELF: Final = (
    "prlimit64",
    "sched_setscheduler",
    "sched_setparam",
    "sched_setaffinity",
    "sched_setattr",
)
#: Without namespaces: what changes a file that can only be read, and Landlock does not ask about.
_PRETENDED: Final = (
    "chmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchownat",
    "utime",
    "utimes",
    "futimesat",
    "setxattr",
    "lsetxattr",
    "setxattrat",
    "removexattr",
    "lremovexattr",
    "removexattrat",
    "file_setattr",
    "fchown",
    "fsetxattr",
    "fremovexattr",
    "utimensat",
)


def supported() -> bool:
    """Return whether this machine's system-call numbers are known."""
    return platform.system() == "Linux" and platform.machine() in _MACHINES


@cache
def syscall_filter(*, namespaces: bool) -> bytes:
    """Return the filter; ``namespaces``: for levels 2 and 3."""
    architecture, table = _MACHINES[platform.machine()]
    return b"".join(_instructions(architecture, {**_NEW, **table}, namespaces=namespaces))


def _instructions(architecture: int, table: dict[str, int], *, namespaces: bool) -> Iterator[bytes]:
    yield from (_code(_LOAD, 4), _code(_EQUAL, architecture, 1, 0), _code(_RETURN, _KILL), _code(_LOAD, 0))
    yield from (_code(_AT_LEAST, 0x40000000, 0, 1), _refuse(errno.EPERM))  # the x32 numbers of the same calls
    looked_at = {*_ITSELF, *_PRETENDED, *_BY_ARGUMENT, *(_SHARED if namespaces else ())}
    for name in table:
        if name not in looked_at:
            yield from _when(table, name, _refuse(errno.EPERM))
    yield from _when(table, "clone3", _refuse(errno.ENOSYS))  # its flags can't be read here; clone is used instead
    yield from _when(table, "clone", _load(0), _code(_ANY_BIT, _NAMESPACES, 0, 1), _refuse(errno.EPERM))
    forbidden = [step for word in _IOCTLS for step in (_code(_EQUAL, word, 0, 1), _refuse(errno.EPERM))]
    yield from _when(table, "ioctl", _load(1), *forbidden)
    if namespaces:
        families = [_code(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
        yield from _when(table, "socket", _load(0), *families, _refuse(errno.EAFNOSUPPORT))
    else:
        for name in _PRETENDED:
            yield from _when(table, name, _refuse(0))
        set_user_id = (_load(1), _code(_ANY_BIT, 0o6000, 0, 1), _refuse(errno.EPERM))
        yield from _when(table, "fchmod", *set_user_id, _refuse(0))
        for name in _ITSELF:
            yield from _when(table, name, _load(0), _code(_EQUAL, 0, 1, 0), _refuse(errno.EPERM))
    yield _code(_RETURN, _ALLOW)


def _when(table: dict[str, int], name: str, *steps: bytes) -> Iterator[bytes]:
    if name in table:
        yield _code(_EQUAL, table[name], 0, len(steps) + 1)
        yield from steps
        yield _code(_RETURN, _ALLOW)


def _load(argument: int) -> bytes:
    return _code(_LOAD, _ARGUMENTS + 8 * argument)


def _refuse(number: int) -> bytes:
    return _code(_RETURN, _ERRNO | number)


def _code(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, k)
