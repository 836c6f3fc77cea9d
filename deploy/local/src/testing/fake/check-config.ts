const { FAKE_BROKEN_CONFIG } = process.env;
if (FAKE_BROKEN_CONFIG) {
  console.error(`angelia: ${FAKE_BROKEN_CONFIG}`);
  process.exitCode = 78;
}
