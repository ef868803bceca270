"""The kernel's state of a TCP connection: `struct tcp_info` (linux/tcp.h)."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

_LAYOUT = struct.Struct("=8B24I4Q2I2I2I1Q3Q2I2Q2I2I2I")
_NAMES = (
    *("state", "ca_state", "retransmits", "probes", "backoff", "options", "scales", "limited"),
    *("rto", "ato", "snd_mss", "rcv_mss", "unacked", "sacked", "lost", "retrans", "fackets"),
    *("last_data_sent", "last_ack_sent", "last_data_recv", "last_ack_recv"),
    *("pmtu", "rcv_ssthresh", "rtt", "rttvar", "snd_ssthresh", "snd_cwnd", "advmss", "reordering"),
    *("rcv_rtt", "rcv_space", "total_retrans"),
    *("pacing_rate", "max_pacing_rate", "bytes_acked", "bytes_received"),
    *("segs_out", "segs_in", "notsent_bytes", "min_rtt", "data_segs_in", "data_segs_out"),
    *("delivery_rate", "busy_time", "rwnd_limited", "sndbuf_limited"),
    *("delivered", "delivered_ce", "bytes_sent", "bytes_retrans", "dsack_dups", "reord_seen"),
    *("rcv_ooopack", "snd_wnd", "rcv_wnd", "rehash"),
)
_TIMEOUTS = struct.Struct("=HH")
"""`tcpi_total_rto` and `tcpi_total_rto_recoveries`, of Linux 6.7 and later."""

_MAX_U64 = 2**64 - 1


@dataclass(frozen=True)
class TcpInfo:
    """A connection at one moment.

    Attributes:
        cwnd: In bytes.
        pacing: In bit/s; infinite without.
        rtt: Smoothed round-trip time in seconds, 0 before the first sample.
        min_rtt: Least one of the last minutes, in seconds; 0 before the first sample.
        retransmitted: Segments sent again.
        timeouts: Retransmission timeouts.
        marked: Segments that the other side has reported as marked.
        packets: Data segments sent, repeated ones included.
        spurious: Segments that the other side has reported as received twice.
    """

    cwnd: int
    pacing: float
    rtt: float
    min_rtt: float
    retransmitted: int
    timeouts: int
    marked: int
    packets: int
    spurious: int


def tcp_info(connection: socket.socket) -> TcpInfo:
    """Returns the kernel's state of a connection.

    Raises:
        OSError: there is none any more.
    """
    return read(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512))


def read(raw: bytes) -> TcpInfo:
    """A `struct tcp_info`; what an older kernel leaves out is 0."""
    raw = raw.ljust(_LAYOUT.size + _TIMEOUTS.size, b"\0")
    values = read_fields(raw)
    # 2^32 - 1 us: none so far.
    least = 0 if values["min_rtt"] == 2**32 - 1 else values["min_rtt"]
    return TcpInfo(
        cwnd=values["snd_cwnd"] * values["snd_mss"],
        pacing=float("inf") if values["pacing_rate"] == _MAX_U64 else values["pacing_rate"] * 8.0,
        rtt=values["rtt"] / 1e6,
        min_rtt=least / 1e6,
        retransmitted=values["total_retrans"],
        timeouts=_TIMEOUTS.unpack_from(raw, _LAYOUT.size)[0],
        marked=values["delivered_ce"],
        packets=values["data_segs_out"],
        spurious=values["dsack_dups"],
    )


def read_fields(raw: bytes) -> dict[str, int]:
    """The members of a `struct tcp_info` by their names, without tcpi_; what an older kernel leaves out is 0."""
    return dict(zip(_NAMES, _LAYOUT.unpack_from(raw.ljust(_LAYOUT.size, b"\0")), strict=True))
