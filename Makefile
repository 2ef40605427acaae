# make run        the whole product on this machine, with a demo shop to buy in
# make test       set-up, checks, unit tests (pytest, vitest) and one payment on each kind of chain (five minutes)
# make test-all   make test, then all other tests: real chains, processes and browsers (21 minutes)
#
# Needed: Python 3.11 or newer, and make. Everything else comes from pinned packages.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
# Dozens of processes start during the tests: each would compile all of the source again.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help run test vitest test-all test-slow setup lint lock frontend fresh browser pictures properties prove bench bench-admin bench-scale docs docs-serve collection restore-drill upgrade-drill audit sbom chaos simulate

# The first interpreter that is new enough.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
NPM := $(BIN)/python -m demo.services.node --loglevel=error
INSTALLED := .venv/installed

# One payment per chain family, and one in a browser: `make test` runs them beside the unit tests.
HAPPY_PATHS := \
	tests/integration/payments/verification/test_paying_in_full.py::test_token_transfer_with_reference_completes_the_request \
	tests/integration/solana/test_paying.py::test_usdc_payment_to_a_new_account_completes_the_request \
	tests/browser/wallets/test_paying.py::test_declined_payment_can_be_made_at_the_next_try

# Folders with an `npm run build`. The output of the first three is committed.
BUILDS := checkout/frontend demo/wallet contracts clients/typescript
BUILT := checkout/static/checkout checkout/brotli demo/wallet/dist demo/contracts/artifacts.json chains/families/evm/deposits/contracts.json chains/families/evm/deposits/rehearsal.json

# Settings as in production, so that `check --deploy` checks the settings of a deployment.
PRODUCTION := DEBUG=False ENVIRONMENT=production ALLOWED_HOSTS=pay.example.com \
	BASE_URL=https://pay.example.com CHECKOUT_URL=https://pay.example.com

help:
	@grep -E '^# make' Makefile | cut -c3-
	@echo "make test-slow   what make test-all runs after make test"
	@echo "make vitest  the unit tests of the checkout's TypeScript"
	@echo "make lint   ruff, wording, mypy, migrations and deployment checks"
	@echo "make bench  measures the API, memory, verifying 1,000 payments, reading 1,000 token balances, sending webhooks and painting the checkout"
	@echo "make bench-admin  measures the admin's and the API's pages over 1,000,000 requests (15 minutes, 20 GB of disk)"
	@echo "make bench-scale  measures calls, sweeps and pages at 10,000 to 1,000,000 requests (15 minutes, 10 GB of disk; SCALE=5000000 for more)"
	@echo "make properties   20,000 random histories of customers, thieves and chains against a model, and as many of one request after another (SEQUENCES=20000)"
	@echo "make prove   proves that money can only leave a deposit address to its recipient, and that the proof finds mutants (a minute)"
	@echo "make docs   builds the documentation site in .local/site, and stops at a dead link (make docs-serve also shows it)"
	@echo "make restore-drill   loses the database with payments after the last dump, and recovers them from the chain (EACH=20)"
	@echo "make upgrade-drill   upgrades from the last release, or from PREVIOUS, under traffic and counts failed requests"
	@echo "make audit  asks the advisory databases of PyPI and npm about every pinned package"
	@echo "make sbom   writes the bill of materials (CycloneDX) to .local/sbom"
	@echo "make chaos  1,000 payments while processes are killed and nodes stall (five minutes; PAYMENTS=10000 for more, FAULTS=failover for a PostgreSQL and a Redis that reject writes)"
	@echo "make simulate  200 random histories of workers that crash, lose connections and stall (SEEDS=2000; SEED=7 repeats one, step by step)"
	@echo "make lock   compiles requirements*.in to requirements*.txt"
	@echo "make pictures   takes the screenshots in docs/images from the tests of the checkout's states"
	@echo "make frontend   builds the checkout's script, the demo wallet, all contracts and the TypeScript client"

run: $(INSTALLED)
	@exec $(BIN)/python -m demo.world

test: $(INSTALLED)
	@$(MAKE) lint
	@$(MAKE) vitest
	@$(MAKE) browser
	$(BIN)/python -m tests.again -n 2 --dist loadfile tests/unit $(HAPPY_PATHS)

# The unit tests of the checkout's script.
vitest: checkout/frontend/node_modules/installed
	@$(NPM) --prefix checkout/frontend run --silent test

test-all: $(INSTALLED)
	@$(MAKE) test
	@$(MAKE) test-slow

# The tests that `make test` leaves out.
test-slow: $(INSTALLED)
	@$(MAKE) fresh
	@$(MAKE) browser
	$(BIN)/python -m tests.again -n 5 --dist loadfile --durations=30 tests/integration tests/browser $(addprefix --deselect=,$(HAPPY_PATHS))

setup: $(INSTALLED)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.wording
	$(BIN)/mypy --config-file clients/python/pyproject.toml clients/python/src
	$(PRODUCTION) $(BIN)/python -m demo.services bash -euc '\
		$(BIN)/mypy; \
		$(BIN)/python manage.py makemigrations --check --dry-run; \
		$(BIN)/python manage.py check --deploy --fail-level WARNING; \
		$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null'

bench: $(INSTALLED)
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.api_calls
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.memory
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.block_to_webhook
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.verification_cost
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.discovery_cost
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.webhook_delivery
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.checkout_paint

bench-admin: $(INSTALLED)
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.admin_pages

bench-scale: $(INSTALLED)
	@$(BIN)/python -m demo.services $(BIN)/python -m bench.growth

properties: $(INSTALLED)
	@$(BIN)/python -m tests.integration.properties.run

# The script that draws diagrams comes from npm. The site serves it, so readers' browsers contact no other site.
docs: $(INSTALLED) website/node_modules/installed
	@$(BIN)/python -m website

# Every call of the API for Postman, Bruno and others.
collection: $(INSTALLED)
	@$(BIN)/python -m website.collection

docs-serve: $(INSTALLED) website/node_modules/installed
	@$(BIN)/python -m website serve

restore-drill: $(INSTALLED)
	@$(BIN)/python -m tests.integration.operations.drills.restore

upgrade-drill: $(INSTALLED)
	@$(BIN)/python -m tests.integration.operations.drills.upgrade

# The audit tools have a separate environment, because the product doesn't need their packages.
AUDIT := .local/audit/installed

audit: $(INSTALLED) $(AUDIT)
	@$(BIN)/python -m audit

sbom: $(INSTALLED) $(AUDIT)
	@$(BIN)/python -m audit sbom

# The prover has a separate environment too.
PROOF := .local/proof/installed

prove: $(INSTALLED) $(PROOF) contracts/node_modules/installed
	@$(BIN)/python -m contracts.proof

$(PROOF): requirements-proof.txt | $(INSTALLED)
	@echo "Installing the prover…"
	@$(BIN)/python -m venv .local/proof
	@.local/proof/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-proof.txt
	@touch $@

$(AUDIT): requirements-audit.txt | $(INSTALLED)
	@echo "Installing the tools of make audit and make sbom…"
	@$(BIN)/python -m venv .local/audit
	@.local/audit/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-audit.txt
	@touch $@

chaos: $(INSTALLED)
	@$(BIN)/python -m tests.integration.chaos.run

simulate: $(INSTALLED)
	@$(BIN)/python -m tests.integration.simulation.run

lock: $(INSTALLED)
	for name in requirements requirements-tracing requirements-dev requirements-audit requirements-proof; do \
		$(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url --no-emit-trusted-host \
			--no-emit-find-links --no-header --output-file $$name.txt $$name.in || exit 1; \
	done

frontend: $(addsuffix /node_modules/installed,$(BUILDS))
	for folder in $(BUILDS); do \
		$(NPM) --prefix $$folder run --silent --if-present check || exit 1; \
		$(NPM) --prefix $$folder run --silent build || exit 1; \
	done

# Check that the committed builds match their sources.
fresh: frontend
	@git diff --exit-code --stat -- $(BUILT) || { \
		echo "The built files above don't match their sources: commit them as they are now."; exit 1; }
	@new=$$(git ls-files --others --exclude-standard -- $(BUILT)); \
	[[ -z $$new ]] || { echo "Built, but not committed: $$new"; exit 1; }

# The browser tests use the system's Chromium. If there is none, install Playwright's.
browser: $(INSTALLED)
	@for name in chromium chromium-browser google-chrome; do \
		if command -v $$name >/dev/null; then exit 0; fi; \
	done; \
	echo "Looking for Playwright's Chromium (once, about a minute)…"; \
	$(BIN)/playwright install chromium || \
		echo "There is no Chromium, and Playwright's could not be installed: the browser tests will be skipped."

# Take the documentation's pictures of the product.
pictures: $(INSTALLED)
	@$(MAKE) browser
	$(BIN)/python -m tests.gallery

$(INSTALLED): requirements.txt requirements-dev.txt
	@[[ -n "$(PYTHON)" ]] || { \
		echo "Python 3.11 or newer is needed (found: $$(python3 --version 2>&1 || true))."; \
		echo "Install it, for instance: apt install python3.11 python3.11-venv, or: brew install python@3.12"; \
		exit 1; }
	@[[ -x $(BIN)/python ]] || $(PYTHON) -m venv .venv || { \
		rm -rf .venv; echo "Python's venv module is incomplete; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Installing Python packages… (once, about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -r requirements-dev.txt
	@touch $@

%/node_modules/installed: %/package-lock.json | $(INSTALLED)
	@echo "Installing the build tools of $*…"
	@$(NPM) --prefix $* ci --ignore-scripts --no-audit --no-fund
	@touch $@
