// The image's health check: the service's own admin port says whether it is alive.
const port = process.env.ANGELIA_ADMIN_PORT ?? '9464';
const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
process.exit(answer?.ok ? 0 : 1);
