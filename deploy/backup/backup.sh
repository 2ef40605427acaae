#!/usr/bin/env bash
# Dump the database, encrypted for BACKUP_RECIPIENT (the public key of `age-keygen`), into BACKUP_FOLDER.
#
#   backup.sh                dump once
#   backup.sh --every 21600  dump now and every six hours
#
# A file is complete if it has its final name. Files older than BACKUP_DAYS (default 14) are removed, except the newest.
set -euo pipefail
umask 077

folder=${BACKUP_FOLDER:?Set BACKUP_FOLDER to where dumps are kept}
recipient=${BACKUP_RECIPIENT:?Set BACKUP_RECIPIENT to the public key that age-keygen printed}
database=${DATABASE_URL:?Set DATABASE_URL}
days=${BACKUP_DAYS:-14}

# The password goes into the environment: other users can see a command's arguments.
if [[ $database =~ ^([a-z]+://[^:/@]*):([^@/]*)@(.*)$ ]]; then
  encoded=${BASH_REMATCH[2]}
  database="${BASH_REMATCH[1]}@${BASH_REMATCH[3]}"
  PGPASSWORD=$(printf '%b' "${encoded//%/\\x}")
  export PGPASSWORD
fi

dump() {
  local file
  file="$folder/quittance-$(date -u +%Y%m%dT%H%M%SZ).dump.age"
  # The shell doesn't stop at errors in a function that is called before ||. So a step that must succeed has `|| return`.
  pg_dump --format=custom --no-owner --no-privileges --dbname="$database" | age --recipient "$recipient" >"$file.part" || return
  mv "$file.part" "$file" || return
  echo "$(basename "$file"): $(stat -c %s "$file") bytes"
  find "$folder" -maxdepth 1 -name 'quittance-*.dump.age' ! -path "$file" -mtime "+$days" -delete
  find "$folder" -maxdepth 1 -name 'quittance-*.part' -mtime +1 -delete
}

if [[ ${1:-} == --every ]]; then
  while true; do
    dump || echo "the dump failed; the next try follows" >&2
    sleep "${2:?seconds}"
  done
else
  dump
fi
