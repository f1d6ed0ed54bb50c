# The verbs of this project. `make demo` and `make test` install what they need on Debian 12.
PRESET ?= release
PREFIX ?= /usr/local
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.PHONY: build demo test test-deep check sanitize bench docs install report packages clean

build: packages
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

packages:
	@tools/install_packages.sh

demo: packages
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target tondar
	@tests/e2e/venv.sh demo
	@tools/demo.sh $(BUILD)/tondar

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# Random calls of operators against PyTorch, which it installs; DEEP="--seed 1 --cases 500" for other draws.
test-deep: build
	@tests/deep/run.sh $(BUILD)/tondar $(DEEP)

check: build
	@tools/check.sh $(BUILD)

sanitize: packages
	@for preset in asan ubsan tsan; do tools/sanitize.sh $$preset || exit 1; done

bench: build
	@cmake --build $(BUILD) -j $(JOBS) --target tondar_engine_accelerators_cpu_benchmark
	@$(BUILD)/tondar_engine_accelerators_cpu_benchmark

docs: build
	@tools/gen_docs.sh $(BUILD)

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

report:
	@tools/report.sh

clean:
	@rm -rf build
