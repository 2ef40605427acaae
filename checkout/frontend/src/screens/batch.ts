/** The screens of a batch: while it has no transaction, and after its end. */

import { copy } from "../copy";
import { button } from "../dom";
import type { Notice } from "../flow/notices";
import { mayLetGo, type Batch } from "../server/batches";
import type { Screen } from "./panel";
import { actions, noticeBox, paragraph, screen } from "./parts";
import { stepList, type StepState } from "./steps";

/** The screen while the wallet has the batch, and its transaction isn't known yet. */
export function batchScreen(batch: Batch, payAgain: () => void): Screen {
  const { wallet } = batch.by;
  const isLate = mayLetGo(batch);
  const steps: [string, StepState][] = [[copy.stepSent, "awaited"], [copy.stepFinality, "todo"], [copy.stepPaid, "todo"]];
  const text = isLate ? copy.batch.late(wallet) : copy.batch.sending(wallet);
  return screen(
    isLate ? "late" : "processing",
    isLate ? copy.late : copy.processing,
    [
      isLate ? noticeBox({ tone: "info", text }) : paragraph(text),
      stepList(steps),
      isLate && actions(button("not-sent", "secondary", copy.notSent, payAgain)),
    ],
    text,
  );
}

/** The notice about a batch that ended without a known transaction. */
export function batchNotice({ ended, by }: Batch): Notice {
  const text = copy.batch[ended ?? "lost"](by.wallet);
  return { tone: ended === "unsent" ? "info" : "error", text };
}
