"""Reads cases with h11. Input: a length in four bytes, then the bytes. Output: a line of JSON per case."""

import json
import struct
import sys

import h11


def read(data):
    conn = h11.Connection(h11.SERVER)
    if data:  # h11 treats empty input as the end of the connection
        conn.receive_data(data)
    requests = []
    while True:
        try:
            event = conn.next_event()
        except h11.RemoteProtocolError as error:
            in_body = requests and not requests[-1]["whole"]
            return requests, {"refuses": ("body, " if in_body else "") + str(error)}
        if event is h11.NEED_DATA:
            return requests, "waits"
        if event is h11.PAUSED:
            return requests, "closes"
        if isinstance(event, h11.Request):
            line = event.method + b" " + event.target
            seen = {"line": line.decode("latin-1"), "content_bytes": 0, "whole": False}
            requests.append(seen)
        elif isinstance(event, h11.Data):
            requests[-1]["content_bytes"] += len(event.data)
        elif isinstance(event, h11.EndOfMessage):
            requests[-1]["whole"] = True
            # Not a success status, which would open a tunnel for CONNECT
            conn.send(h11.Response(status_code=404, headers=[("Content-Length", "0")]))
            conn.send(h11.EndOfMessage())
            if conn.our_state is not h11.DONE or conn.their_state is not h11.DONE:
                return requests, "closes"
            conn.start_next_cycle()


def main():
    stdin, stdout = sys.stdin.buffer, sys.stdout
    while header := stdin.read(4):
        (length,) = struct.unpack("<I", header)
        requests, end = read(stdin.read(length))
        json.dump({"requests": requests, "end": end}, stdout)
        stdout.write("\n")
        stdout.flush()


main()
