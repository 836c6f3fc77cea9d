import type { TargetOptions } from '@angelia/config';
import { createTransport } from 'nodemailer';
import { type Finding, fault, ok, reasonOf } from '../finding.ts';

/** Connects, starts TLS as configured, logs in and disconnects. It sends no mail. */
export async function emailFinding(
  check: string,
  options: TargetOptions<'email'>,
  timeoutMs: number,
): Promise<Finding> {
  const { host, security, user, password } = options;
  const port = options.port ?? (security === 'tls' ? 465 : security === 'none' ? 25 : 587);
  const transport = createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    ...(user === undefined || password === undefined ? {} : { auth: { user, pass: password } }),
  });
  try {
    await transport.verify();
    return ok(check, `${host}:${port} ${user === undefined ? 'answers' : 'accepts the login'}`);
  } catch (error) {
    const refused = (error as { code?: unknown }).code === 'EAUTH';
    return refused
      ? fault(
          check,
          `${host}:${port} refuses the login: ${reasonOf(error)}`,
          'correct targets.email.user and targets.email.password',
        )
      : fault(
          check,
          `${host}:${port} cannot be used: ${reasonOf(error)}`,
          'correct targets.email.host, port and security, or let this machine reach the server',
        );
  } finally {
    transport.close();
  }
}
