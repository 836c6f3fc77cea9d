export default async function teardown() {
  await globalThis.angeliaTestServices?.stop();
}
