// A statement on the test cluster, which trusts every user, by PostgreSQL's simple protocol. No client program is needed.

import { connect } from 'node:net';

/** Protocol 3.0. */
const PROTOCOL = 196608;

const text = (value) => Buffer.from(`${value}\0`);
const int32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const message = (type, ...parts) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
};

/** Runs a statement; throws if PostgreSQL refuses it. */
export async function execute(dsn, sql) {
  const { hostname, port, username, pathname } = new URL(dsn);
  const socket = connect(Number(port), hostname);
  socket.write(message('', int32(PROTOCOL), text('user'), text(username), text('database'), text(pathname.slice(1)), text('')));
  const steps = [message('Q', text(sql)), message('X')];
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 5 && received.length > received.readInt32BE(1)) {
      const [type, end] = [String.fromCharCode(received[0]), received.readInt32BE(1) + 1];
      if (type === 'E') throw new Error(received.toString('utf8', 5, end).replaceAll('\0', ' '));
      // ReadyForQuery: after the start-up the statement may follow, and after the statement the end.
      if (type === 'Z') socket.write(steps.shift());
      received = received.subarray(end);
    }
  }
  if (steps.length > 0) throw new Error('PostgreSQL closed the connection');
}
