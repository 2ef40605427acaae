import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["tests/**/*.test.ts"],
    setupFiles: ["tests/setup.ts"],
    // happy-dom makes no requests: each test scripts the responses that it needs.
    environmentOptions: { happyDOM: { url: "https://pay.example/pay/Ab3dEf6hJk9m" } },
    // One page for all files of a worker: starting one takes longer than its tests.
    isolate: false,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
