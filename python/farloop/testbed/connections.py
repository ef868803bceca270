"""The flows of a plan as TCP connections: one loop for all hosts, whose sockets stay in the namespaces that they were made in.

Each flow has a port of its own, on which its receiver listens with the flow's congestion control, which is what decides about ECN.
Applications send as fast as TCP takes it.
"""

from __future__ import annotations

import errno
import gc
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from farloop.errors import FarloopError
from farloop.kernel.tcp_info import TcpInfo, tcp_info
from farloop.testbed.blueprint import PS, Flow
from farloop.testbed.link_emulator import pin_processors, raise_priority
from farloop.testbed.network import Network
from farloop.testbed.ports import FIRST_FLOW, Counters

PRIORITY = 10
"""Of SCHED_FIFO, below the link emulator's."""

MAX_WAIT = 0.2
"""Seconds between looks at whether the link emulator still runs."""

_CHUNK = 64 << 10
_CHUNKS = 4
"""Chunks that one flow may read or write before others do."""

_UNSENT = 256 << 10
"""`TCP_NOTSENT_LOWAT`: what the kernel holds of a flow beyond its window."""

_NOTSENT_LOWAT = 25
_ABORT = struct.pack("ii", 1, 0)
_LINGER = struct.pack("ii", 0, 0)


@dataclass
class Transfer:
    """A flow and what it came to. Times in seconds from the beginning.

    Attributes:
        flow: The flow.
        begun: When its connection was asked for.
        delivered: Bytes that the receiver has.
        received: When it had the last of them.
        finished: When the sender knew.
        failed: TCP gave up.
        info: The kernel's last TCP_INFO.
        sent: Bytes that TCP has taken.
        sender, receiver, listener: Sockets.
    """

    flow: Flow
    sender: socket.socket | None
    listener: socket.socket | None
    receiver: socket.socket | None = None
    begun: float | None = None
    delivered: int = 0
    received: float | None = None
    finished: float | None = None
    failed: bool = False
    info: TcpInfo | None = None
    sent: int = 0
    stopped: bool = False


@dataclass(frozen=True)
class Sample:
    """Measurements at one moment, `time` seconds from the beginning.

    By number of flow what its receiver had and its sender's state, by number of port its counters.
    """

    time: float
    flows: dict[int, tuple[int, TcpInfo]]
    ports: dict[int, Counters]


@dataclass
class Measurement:
    """Result of a network's traffic.

    Attributes:
        transfers: Of each flow.
        samples: In their order.
        duration: Seconds that it lasted.
        ports: The counters of all ports at the end.
        queue_means: The mean queue of each port, in bytes.
        urgent: The loop had real-time priority.
        gap: Longest time in seconds that the loop was late.
    """

    transfers: list[Transfer]
    samples: list[Sample] = field(default_factory=list)
    duration: float = 0.0
    ports: list[Counters] = field(default_factory=list)
    queue_means: list[float] = field(default_factory=list)
    urgent: bool = False
    gap: float = 0.0


def run(network: Network, progress: Callable[[float], bool]) -> Measurement:
    """Lets the flows of a network run; calls `progress` with the seconds now and then, and stops if it returns false.

    Raises:
        FarloopError: an algorithm is not there, or the link emulator has ended.
        KeyboardInterrupt: `progress` returned false.
    """
    with _Loop(network) as loop:
        return loop.run(progress)


class _Loop:
    def __init__(self, network: Network) -> None:
        self._network = network
        self._plan = network.plan
        self._selector = selectors.DefaultSelector()
        self._buffer = bytearray(4 * _CHUNK)
        self._zeros = memoryview(bytes(_CHUNK))
        self._start = 0.0
        self._transfers: list[Transfer] = []
        named = {
            (self._plan.nodes[link.ends[end]].name, self._plan.nodes[link.ends[1 - end]].name, link.number): (i, end)
            for i, link in enumerate(self._plan.links)
            for end in (0, 1)
        }
        self._recorded = [Network.port(*named[port]) for port in self._plan.recorded_ports]

    def __enter__(self) -> _Loop:
        try:
            self._transfers = [self._prepare_sockets(i, flow) for i, flow in enumerate(self._plan.flows)]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for transfer in self._transfers:
            for end in (transfer.sender, transfer.receiver, transfer.listener):
                if end is not None:
                    end.close()
        self._selector.close()

    def run(self, progress: Callable[[float], bool]) -> Measurement:
        measurement = Measurement(self._transfers)
        with _raise_priority() as measurement.urgent:
            self._start = time.monotonic()
            self._go(measurement, progress)
            measurement.duration = self._measure_elapsed()
            measurement.ports = [self._network.ports.read(i) for i in range(2 * len(self._plan.links))]
        measurement.queue_means = [port.integral / measurement.duration for port in measurement.ports]
        for transfer in self._transfers:
            if transfer.sender is not None and transfer.begun is not None:
                self._look(transfer)
        return measurement

    def _go(self, measurement: Measurement, progress: Callable[[float], bool]) -> None:
        plan = self._plan
        starts = sorted(range(len(plan.flows)), key=lambda i: plan.flows[i].start_ps)
        stops = sorted((f.stop_ps, i) for i, f in enumerate(plan.flows) if f.stop_ps is not None)
        interval = plan.interval or plan.duration
        next_sample, shown_at = interval, 0.0
        while (now := self._measure_elapsed()) < plan.duration:
            while starts and plan.flows[starts[0]].start_ps / PS <= now:
                self._connect(starts.pop(0))
            while stops and stops[0][0] / PS <= now:
                self._stop(self._transfers[stops.pop(0)[1]])
            if now >= next_sample:
                measurement.gap = max(measurement.gap, now - next_sample)
                measurement.samples.append(self._sample(now))
                next_sample = interval * (int(now / interval) + 1)
            if now >= shown_at + MAX_WAIT:
                shown_at = now
                if not progress(now):
                    raise KeyboardInterrupt
                if self._network.emulator:
                    self._network.emulator.check()
            due = [next_sample, plan.duration, now + MAX_WAIT]
            due += [plan.flows[starts[0]].start_ps / PS] if starts else []
            due += [stops[0][0] / PS] if stops else []
            for key, events in self._selector.select(max(min(due) - now, 0.0)):
                key.data(events)
        if plan.interval:
            measurement.samples.append(self._sample(self._measure_elapsed()))

    def _measure_elapsed(self) -> float:
        return time.monotonic() - self._start

    def _prepare_sockets(self, number: int, flow: Flow) -> Transfer:
        """Its sockets, in their namespaces: nothing is sent yet."""
        kernel = self._plan.algorithms[flow.algorithm].kernel
        with self._network.namespaces[flow.destination].enter_namespace():
            listener = _socket(kernel)
            listener.bind((self._network.address(flow.destination), FIRST_FLOW + number))
            listener.listen(1)
        with self._network.namespaces[flow.source].enter_namespace():
            sender = _socket(kernel)
        sender.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, _UNSENT)
        transfer = Transfer(flow, sender, listener)
        self._selector.register(listener, selectors.EVENT_READ, lambda _: self._accept(transfer))
        return transfer

    def _connect(self, number: int) -> None:
        transfer = self._transfers[number]
        assert transfer.sender is not None
        transfer.begun = self._measure_elapsed()
        where = (self._network.address(transfer.flow.destination), FIRST_FLOW + number)
        status = transfer.sender.connect_ex(where)
        if status not in (0, errno.EINPROGRESS):
            self._fail(transfer)
            return
        self._selector.register(transfer.sender, selectors.EVENT_WRITE, lambda _: self._write(transfer))

    def _accept(self, transfer: Transfer) -> None:
        assert transfer.listener is not None
        with suppress(BlockingIOError, ConnectionError):
            transfer.receiver, _ = transfer.listener.accept()
            transfer.receiver.setblocking(False)
            transfer.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
            self._selector.unregister(transfer.listener)
            transfer.listener.close()
            transfer.listener = None
            self._selector.register(transfer.receiver, selectors.EVENT_READ, lambda _: self._read(transfer))

    def _write(self, transfer: Transfer) -> None:
        """Gives TCP what it takes; at the end the connection is half closed, and the other side's end awaited."""
        assert transfer.sender is not None
        size = transfer.flow.size
        try:
            for _ in range(_CHUNKS):
                left = _CHUNK if size is None else min(size - transfer.sent, _CHUNK)
                if left <= 0:
                    break
                transfer.sent += transfer.sender.send(self._zeros[:left])
        except BlockingIOError:
            return
        except OSError:
            self._fail(transfer)
            return
        if size is not None and transfer.sent >= size:
            self._end(transfer)

    def _stop(self, transfer: Transfer) -> None:
        if transfer.sender is not None and transfer.begun is not None and not transfer.stopped:
            self._end(transfer)

    def _end(self, transfer: Transfer) -> None:
        assert transfer.sender is not None
        transfer.stopped = True
        try:
            transfer.sender.shutdown(socket.SHUT_WR)
            self._selector.modify(transfer.sender, selectors.EVENT_READ, lambda _: self._close_transfer(transfer))
        except (OSError, KeyError):
            self._fail(transfer)

    def _read(self, transfer: Transfer) -> None:
        assert transfer.receiver is not None
        try:
            for _ in range(_CHUNKS):
                size = transfer.receiver.recv_into(self._buffer)
                transfer.delivered += size
                if transfer.flow.size is not None and transfer.delivered >= transfer.flow.size:
                    transfer.received = transfer.received or self._measure_elapsed()
                if not size:
                    self._drop(transfer, "receiver")
                    return
        except BlockingIOError:
            return
        except OSError:
            self._drop(transfer, "receiver")

    def _close_transfer(self, transfer: Transfer) -> None:
        """The receiver has acknowledged everything."""
        assert transfer.sender is not None
        try:
            if transfer.sender.recv(1):
                return
        except BlockingIOError:
            return
        except OSError:
            self._fail(transfer)
            return
        if transfer.received is not None:
            transfer.finished = self._measure_elapsed()
        self._look(transfer)
        self._drop(transfer, "sender")

    def _fail(self, transfer: Transfer) -> None:
        transfer.failed = True
        self._look(transfer)
        self._drop(transfer, "sender")

    def _drop(self, transfer: Transfer, which: str) -> None:
        """Closes a socket in order, where it was the other side that did so first."""
        end: socket.socket = getattr(transfer, which)
        with suppress(KeyError):
            self._selector.unregister(end)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        end.close()
        setattr(transfer, which, None)

    def _look(self, transfer: Transfer) -> None:
        assert transfer.sender is not None
        with suppress(OSError):
            transfer.info = tcp_info(transfer.sender)

    def _sample(self, now: float) -> Sample:
        flows = {}
        for number in self._plan.recorded_flows:
            transfer = self._transfers[number]
            if transfer.begun is None:
                continue
            if transfer.sender is not None:
                self._look(transfer)
            if transfer.info is not None:
                flows[number] = (transfer.delivered, transfer.info)
        ports = {number: self._network.ports.read(number) for number in self._recorded}
        self._network.ports.begin_epoch(self._recorded)
        return Sample(now, flows, ports)


def _socket(algorithm: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)
    # Whatever happens, no connection outlives this process.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    except OSError:
        made.close()
        raise FarloopError(f"this kernel has no congestion control {algorithm}") from None
    return made


@contextmanager
def _raise_priority() -> Iterator[bool]:
    """Real-time priority where that is allowed, the link emulator elsewhere, and no garbage collection, until the block ends."""
    before, processors = (os.sched_getscheduler(0), os.sched_getparam(0)), os.sched_getaffinity(0)
    gc.disable()
    try:
        pin_processors(emulates=False)
        yield raise_priority(PRIORITY)
    finally:
        gc.enable()
        os.sched_setaffinity(0, processors)
        with suppress(OSError):
            os.sched_setscheduler(0, *before)
