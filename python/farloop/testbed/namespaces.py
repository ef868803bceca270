"""Network namespaces without names: they are there as long as this process holds them open, and vanish with it, however it ends.

Interfaces, queueing disciplines and filters vanish with their namespace. Nothing else of the host is touched.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from farloop.errors import FarloopError

_CLONE_NEWNET = 0x40000000
_HERE = "/proc/thread-self/ns/net"
_SIOCETHTOOL = 0x8946
_CHECKSUMS = 0x17  # ETHTOOL_STXCSUM
_OFFLOADS = (0x1F, 0x24, 0x2C)  # ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO


class Namespace:
    """A network namespace of this process's own; `close` lets it go."""

    def __init__(self) -> None:
        with _stay():
            _call("unshare", _CLONE_NEWNET)
            self._descriptor = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def path(self) -> str:
        """Where other programs find it while this process lives."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    @contextmanager
    def enter_namespace(self) -> Iterator[None]:
        """This thread, its sockets and its children are in the namespace until the block ends."""
        with _stay():
            _call("setns", self._descriptor, _CLONE_NEWNET)
            yield

    def close(self) -> None:
        """Lets it go; it vanishes once no socket is left in it."""
        with suppress(OSError):
            os.close(self._descriptor)

    def batch(self, tool: str, lines: Iterable[str]) -> None:
        """Runs commands of `ip` or `tc` in it.

        Raises:
            FarloopError: one fails.
        """
        text = "".join(f"{line}\n" for line in lines)
        if not text:
            return
        with self.enter_namespace():
            words = [command(tool), "-batch", "-"]
            done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            output = (done.stderr or done.stdout).strip().splitlines()
            raise FarloopError(f"{tool} cannot set up the testbed: {output[0] if output else done.returncode}")

    def settings(self, values: dict[str, str]) -> None:
        """Writes sysctls of the namespace, by their path below /proc/sys/net.

        Raises:
            FarloopError: the kernel refuses one.
        """
        with self.enter_namespace():
            for name, value in values.items():
                try:
                    Path("/proc/sys/net", name).write_text(value)
                except OSError as error:
                    raise FarloopError(f"the kernel does not set net/{name} to {value}: {error.strerror}") from None

    def whole_packets(self, devices: Iterable[str], *, checksums: bool = True) -> None:
        """Switches off what would make one of several packets, or leave checksums to others.

        Args:
            devices: Interfaces.
            checksums: False lets hosts leave checksums to others.

        Raises:
            FarloopError: an interface refuses.
        """
        with self.enter_namespace(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for device in devices:
                for what in (_CHECKSUMS, *_OFFLOADS) if checksums else _OFFLOADS:
                    value = ctypes.create_string_buffer(struct.pack("=II", what, 0))
                    request = struct.pack("@16sP16x", device.encode(), ctypes.addressof(value))
                    try:
                        fcntl.ioctl(control, _SIOCETHTOOL, request)
                    except OSError as error:
                        raise FarloopError(f"{device}: offloads cannot be switched off: {error.strerror}") from None


def command(name: str) -> str:
    """Where a command is, also where ordinary users do not look.

    Raises:
        FarloopError: it is not installed.
    """
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        raise FarloopError(f"{name} is missing: install iproute2")
    return path


@contextmanager
def _stay() -> Iterator[None]:
    """This thread is where it was when the block ends."""
    back = os.open(_HERE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        try:
            _call("setns", back, _CLONE_NEWNET)
        finally:
            os.close(back)


def _call(name: str, *arguments: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        raise FarloopError(
            f"network namespaces cannot be used ({name}: {os.strerror(ctypes.get_errno())}); run it as root"
        )
