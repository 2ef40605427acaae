<?php

declare(strict_types=1);

const TOLERANCE_SECONDS = 300;

/** Not signed by Quittance, or too old. Respond with 400 and change nothing. */
final class InvalidSignature extends Exception
{
}

/** Returns the event in $body (the raw bytes) if $header, the Service-Signature, signs it; else throws. */
function verify_webhook(?string $header, string $body, string $secret, ?int $now = null): array
{
    if ($secret === '') {
        throw new LogicException('The webhook secret is not set.'); // anyone could sign with an empty one
    }
    $timestamp = '';
    $signatures = [];
    foreach (explode(',', $header ?? '') as $field) {
        [$name, $value] = explode('=', $field, 2) + [1 => ''];
        if ($name === 't') {
            $timestamp = $value;
        } elseif ($name === 'v1') {
            $signatures[] = $value; // several while a secret is being rotated
        }
    }
    if (!preg_match('/^[0-9]{1,12}$/D', $timestamp)) {
        throw new InvalidSignature('The header is not t=<seconds>,v1=<hex>.');
    }
    if (abs(($now ?? time()) - (int) $timestamp) > TOLERANCE_SECONDS) {
        throw new InvalidSignature('Signed too long ago, or in the future.');
    }
    $expected = hash_hmac('sha256', "$timestamp.$body", $secret);
    foreach ($signatures as $signature) {
        if (hash_equals($expected, $signature)) {
            // Without the flag an integer beyond 2^63 becomes a float.
            return json_decode($body, true, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
        }
    }
    throw new InvalidSignature('No signature matches.');
}
