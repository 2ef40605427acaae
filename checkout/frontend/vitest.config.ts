import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["tests/**/*.test.ts"],
    setupFiles: ["tests/setup.ts"],
    // happy-dom makes no requests. Each test defines the responses that it needs.
    environmentOptions: { happyDOM: { url: "https://pay.example/pay/Ab3dEf6hJk9m" } },
    // All files of a worker share one page, because a new page takes longer than its tests.
    isolate: false,
    restoreMocks: true,
    unstubGlobals: true,
  },
});
