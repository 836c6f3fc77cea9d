// Node's own global object as the environment of a test (see runtime.mjs). After a file it restores what the file or Jest
// changed: the console, `process.exit`, the environment variables, the clock.

import { ChildProcess } from 'node:child_process';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';
import { cpuSeconds, keepCpuOfFile } from './cpu.mjs';

/** Each worker has its own ports for the programs that it starts (deploy/local/src/data-directory/ports.ts). */
const PORTS_OF_A_WORKER = 1_000;
const firstPort = 20_000 + PORTS_OF_A_WORKER * Number(process.env.JEST_WORKER_ID ?? 1);
process.env.ANGELIA_LOCAL_PORTS = `${firstPort}-${firstPort + PORTS_OF_A_WORKER - 1}`;

/** The run was killed: nobody reads the results, and a test that waits would wait for minutes, without its Postgres. */
const endWithRun = () => {
  process.emit('exit', 1); // what a test started ends too (nats-server.ts); `process.exit` is Jest's here
  // Programs that wait for their Postgres would wait for ever.
  for (const handle of process._getActiveHandles()) if (handle instanceof ChildProcess) handle.kill();
  process.reallyExit(1);
};

export default class NativeEnvironment {
  global = globalThis;
  fakeTimers = null;
  fakeTimersModern;
  moduleMocker = new ModuleMocker(globalThis);
  #console = globalThis.console;
  #exit = process.exit;
  #env = { ...process.env };
  #root;
  #path;
  #cpuBefore = cpuSeconds();

  constructor({ globalConfig, projectConfig }, { testPath }) {
    this.#path = testPath;
    this.#root = globalConfig.rootDir;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  /** The `jest` object of a test. */
  get jest() {
    const timers = this.fakeTimersModern;
    const mocker = this.moduleMocker;
    return {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      useFakeTimers: (options) => timers.useFakeTimers(options),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTime: (ms) => timers.advanceTimersByTime(ms),
      advanceTimersByTimeAsync: (ms) => timers.advanceTimersByTimeAsync(ms),
      setSystemTime: (now) => timers.setSystemTime(now),
      getTimerCount: () => timers.getTimerCount(),
    };
  }

  async setup() {
    process.on('disconnect', endWithRun);
  }

  async teardown() {
    // It would keep the worker open after its last file.
    process.off('disconnect', endWithRun);
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    globalThis.console = this.#console;
    process.exit = this.#exit;
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    keepCpuOfFile(this.#root, this.#path, cpuSeconds() - this.#cpuBefore);
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
}
