#!/usr/bin/env bash
# Report to an operator that a unit failed: a line in the journal, and a POST to FAILURE_URL if /etc/quittance/failure
# sets it.
#
#   report-failure.sh quittance-backup.service
#
# FAILURE_URL receives {"text": "…"}, as Slack, Mattermost and ntfy accept it.
set -euo pipefail

unit=${1:?Name the unit that failed}
host=$(uname -n)
message="$unit failed on $host. See: journalctl --unit $unit --since -1h"
echo "$message" >&2
if [[ -n ${FAILURE_URL:-} ]]; then
  # The address may hold a key, so it goes through standard input: other users can see a command's arguments.
  printf 'url = "%s"\n' "$FAILURE_URL" |
    curl --config - --silent --show-error --fail --max-time 20 --retry 3 --output /dev/null \
      --header 'Content-Type: application/json' --data "{\"text\": \"$message\"}"
fi
