# `make demo` and `make test` set up everything they need; see .ci/prepare.
.DEFAULT_GOAL := help
BIN := .venv/bin
# The tests start hundreds of processes, each of which would compile every module for itself.
unexport PYTHONDONTWRITEBYTECODE
# Two processes more than there are processors, because whole robots wait much of their time; five at most.
WORKERS = $(shell n=$$(nproc); echo $$((n < 3 ? n + 2 : 5)))
# Written by people: not firmware/core/protocol.h.
C_FILES = $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | grep -v protocol.h)

help: ## this list
	@printf '%s\n' 'New here? Run `make demo` to see a whole solve, then `make test`. Both install what is missing.' \
	  'Changing something? One test: .venv/bin/python -m pytest tests/link/test_wire.py' \
	  'Before a commit: make lint. After a change of C or C++: make build. More: docs/contributing.md' ''
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## .venv with the search kernel, the firmware for this computer and the commands
	@.ci/prepare run

demo: build ## the whole robot in simulation, from the start button to a solved cube, twice as fast
	@$(BIN)/cubist demo --speed 2 $(ARGS)

pico: ## the tools to build and simulate the firmware of a Raspberry Pi Pico
	@.ci/prepare pico

test: ready ## every test but the long campaigns
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -m 'not long' -n $(WORKERS) --dist loadfile --no-loadscope-reorder \
	  --durations=25 --durations-min=1 $(ARGS)

coverage: ready ## the lines that the tests do not cover
	@$(BIN)/python -m pytest -m 'not long' --cov --cov-report=term:skip-covered $(ARGS)

test-long: ## the long campaigns, two hours at most, resumable: ARGS=kernel runs one shard
	@.ci/prepare long
	@$(BIN)/python -m tests.audit.long $(ARGS)

lint: ready ## style of Python, C and C++, types, import layers, unused code
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	@ls solver/native/[!b]*/*.cpp | xargs -n 3 -P $(shell nproc) sh -c \
	  '$(BIN)/clang-tidy --quiet "$$@" -- -std=c++20 -Isolver/native 2>/dev/null' tidy
	@ls firmware/core/*.c firmware/process/*.c firmware/host/*.c | xargs -n 6 -P $(shell nproc) sh -c \
	  '$(BIN)/clang-tidy --quiet "$$@" -- -std=c11 -Ifirmware/core -Ifirmware/host -Ifirmware/process 2>/dev/null' tidy
	@ls firmware/linux/*.c | xargs -n 6 -P $(shell nproc) sh -c \
	  '$(BIN)/clang-tidy --quiet "$$@" -- -std=c11 -Ifirmware/core -Ifirmware/linux -Ifirmware/process 2>/dev/null' tidy
	@$(BIN)/python .ci/check_folders.py
	@$(BIN)/vulture
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.audit.census --check

format: ready ## format Python, C and C++
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(C_FILES)

picture: ready ## pictures of docs/pictures that are drawn from the code
	@$(BIN)/python docs/draw_rooms.py
	@$(BIN)/python docs/draw_finding.py
	@$(BIN)/python docs/draw_reduction.py

bench: ready ## speed and size on fixed cubes, as JSON lines
	@$(BIN)/python -m tests.bench $(ARGS)

mutants: ready ## how many small random changes the tests notice: make mutants ARGS="robot/link 40"
	@$(BIN)/python -m tests.audit $(ARGS)

census: ready ## sizes of rooms, words and names that are counted, as JSON lines; ARGS="--places NAME" lists one
	@$(BIN)/python -m tests.audit.census $(ARGS)

firmware: ready ## the firmware for all microcontrollers, with its sizes
	@$(BIN)/cubist firmware build

install: ## the service on this machine: sudo make install (again to upgrade)
	@systemd/install

uninstall: ## sudo make uninstall; calibration and records stay
	@systemd/uninstall $(ARGS)

deb: ## a Debian package of the service, in build/; on a PC for a Raspberry Pi: make deb ARCH=arm64
	@systemd/deb

repository: ## a signed apt repository of these packages, for any web server: make repository KEY=NAME OF A GPG KEY
	@systemd/repository

lock: ready ## the newest versions of all Python packages, with their hashes, into systemd/lock
	@.ci/lock

ready:
	@.ci/prepare test

clean: ## remove builds and the virtual environment
	rm -rf build .venv

.PHONY: lock format picture install uninstall deb help build demo pico test coverage test-long lint bench mutants census firmware ready clean repository
