<?php

// Judges each delivery on standard input by the sample whose path is the argument; prints the verdicts.

declare(strict_types=1);

set_error_handler(fn (int $level, string $message) => throw new ErrorException($message));

require $argv[1];

$verdicts = [];
foreach (json_decode(file_get_contents('php://stdin'), true, 512, JSON_THROW_ON_ERROR) as $case) {
    $header = $case['header'] === null ? null : base64_decode($case['header']);
    try {
        $event = verify_webhook($header, base64_decode($case['body']), $case['secret'], $case['now']);
        $about = $event['data']['object'];
        $verdicts[] = [$event['id'], $event['type'], $about['reference'], $about['amount_details']['raw']];
    } catch (InvalidSignature) {
        $verdicts[] = 'refused';
    } catch (LogicException) {
        $verdicts[] = 'no secret';
    }
}
echo json_encode($verdicts, JSON_THROW_ON_ERROR);
