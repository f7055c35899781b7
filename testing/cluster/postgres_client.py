"""A client for PostgreSQL's protocol with simple queries and without passwords: the standard library has none."""

import socket
import struct

from processes import HOST


class DatabaseError(Exception):
    """The server refused a statement or a connection."""


class Connection:
    """One session. Every wait has the time limit of the connection."""

    def __init__(self, port, database="postgres", timeout=5):
        self.socket = socket.create_connection((HOST, port), timeout)
        try:
            pairs = b"".join(word.encode() + b"\0" for word in ("user", "postgres", "database", database, "application_name", "cluster"))
            self.socket.sendall(struct.pack("!II", len(pairs) + 9, 196608) + pairs + b"\0")
            self.read_answer()
        except BaseException:
            self.socket.close()
            raise

    def close(self):
        self.socket.close()

    def query(self, sql):
        """Runs a statement and returns its rows as tuples of strings."""
        text = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(text) + 4) + text)
        return self.read_answer()

    def read_answer(self):
        """Reads messages until the server is ready for the next statement."""
        rows, error = [], None
        while True:
            kind, length = struct.unpack("!cI", self.read_bytes(5))
            body = self.read_bytes(length - 4)
            if kind == b"D":
                rows.append(read_row(body))
            elif kind == b"E":
                fields = dict((field[:1], field[1:].decode(errors="replace")) for field in body.split(b"\0") if field)
                error = DatabaseError(fields.get(b"M", "unknown error"))
                # After a fatal error the server closes the connection.
                if fields.get(b"V", fields.get(b"S")) in ("FATAL", "PANIC"):
                    raise error
            elif kind == b"R" and struct.unpack("!I", body[:4])[0] != 0:
                raise DatabaseError("the server asks for a password")
            elif kind == b"Z":
                if error:
                    raise error
                return rows

    def read_bytes(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise DatabaseError("the server closed the connection")
            data += part
        return data


def read_row(body):
    count, position, row = struct.unpack("!H", body[:2])[0], 2, []
    for _ in range(count):
        length = struct.unpack("!i", body[position:position + 4])[0]
        position += 4
        row.append(None if length < 0 else body[position:position + length].decode())
        position += max(length, 0)
    return tuple(row)


def query(port, sql, database="postgres", timeout=5):
    """Runs one statement in a session of its own."""
    connection = Connection(port, database, timeout)
    try:
        return connection.query(sql)
    finally:
        connection.close()
