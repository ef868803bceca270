"""Reads Perfetto files with Perfetto's own definitions of the format."""

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace


def perfetto_file(path):
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def known(message):
    """Whether the definitions know every field."""
    # What they do not know is kept as bytes and written again; what they know takes no more room.
    again = type(message)()
    again.CopyFrom(message)
    again.DiscardUnknownFields()
    return again.ByteSize() == message.ByteSize()


def tracks(trace):
    """Path of names from the root, by id."""
    paths = {}
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in paths
            # A parent is described before its children.
            paths[track.uuid] = (*paths.get(track.parent_uuid, ()), track.name)
            assert (track.parent_uuid in paths) == track.HasField("parent_uuid")
        else:
            assert packet.track_event.track_uuid in paths
    return paths


def events(trace, *path):
    paths = tracks(trace)
    return [
        (packet.timestamp, packet.track_event)
        for packet in trace.packet
        if packet.HasField("track_event") and paths[packet.track_event.track_uuid] == ("farloop", *path)
    ]


def notes(event):
    return {note.name: note.string_value or note.uint_value for note in event.debug_annotations}
