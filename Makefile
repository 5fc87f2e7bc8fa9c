# SPDX-License-Identifier: GPL-2.0-only
# The names people type; `make help` lists them. The build itself is CMake's (CMakeLists.txt).
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
JOBS    ?= $(shell nproc)
SECONDS ?= 20
RESULTS ?=

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS)

# A finished configuration has build.ninja; one that broke off doesn't.
$(BUILD)/CMakeCache.txt $(BUILD)/build.ninja:
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$(PREFIX)"

help:
	@echo "make                        build criu and compel into $(BUILD)/"
	@echo "make demo                   dump and restore a small process tree, step by step (root)"
	@echo "make check                  build and run every test suite (root for those that restore)"
	@echo "make check-gpu              GPU tests in a virtual machine with a simulated driver (scripts/packages-gpu)"
	@echo "make check-vm               clients and other kernels in a virtual machine (root, scripts/packages-vm)"
	@echo "make check-aarch64          cross-build for aarch64, and test in an emulated machine (root, scripts/packages-aarch64); FULL=1: all tests"
	@echo "make install                install below PREFIX ($(PREFIX)), with DESTDIR put before it"
	@echo "make uninstall              remove what was installed from $(BUILD)/"
	@echo "make deb                    build Debian packages into $(BUILD)/deb (scripts/packages-deb)"
	@echo "make bundle                 build a folder, an archive and an OCI image that run on any host, into $(BUILD)/bundle (scripts/packages-bundle)"
	@echo "make bench CRIU_B=PATH      time this criu beside another one, A B A B; times go to $(BUILD)/bench.json, too"
	@echo "make torture MINUTES=N      kill all of criu at random moments of dumps, and check the trees; SEED=N repeats a run"
	@echo "make torture CALLS=1        let single system calls of criu fail instead"
	@echo "make plots                  draw the figures of Documentation/figures; RESULTS=$(BUILD)/bench.json: those times only"
	@echo "make fuzz SECONDS=N         run each fuzz target for N seconds ($(SECONDS))"
	@echo "make asan                   run unit tests built with AddressSanitizer and UBSan"
	@echo "make tidy                   run clang-tidy; FILES='…' for some files only"
	@echo "make format, format-check   clang-format the tree, or say what it would change"
	@echo "make layers                 check who includes whom, and other rules of the tree"
	@echo "make man                    make Documentation/criu.8 from criu.8.in and criu's own option table"
	@echo "make clean                  remove build directories"
	@echo "Variables: BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) JOBS=$(JOBS)"

demo: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS) --target criu demo_worker
	@scripts/demo $(BUILD)

check:
	@scripts/check --build $(BUILD) --jobs $(JOBS)

check-gpu:
	@scripts/install-packages gpu || echo "Not all of scripts/packages-gpu is installed"
	@scripts/check --build $(BUILD) --jobs $(JOBS) --only gpu

check-vm:
	@scripts/install-packages vm || echo "Not all of scripts/packages-vm is installed"
	@scripts/check --build $(BUILD) --jobs $(JOBS) --only vm,kernels

check-aarch64:
	@scripts/install-packages build aarch64
	@scripts/sysroot-aarch64
	@cmake --preset aarch64 -DCRIU_TESTS=ON >/dev/null
	@cmake --build --preset aarch64 -j$(JOBS)
	@test/aarch64/run $(if $(FULL),--full)

install:
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX="$(PREFIX)" >/dev/null
	@cmake --build $(BUILD) -j$(JOBS)
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD)
	@cp $(BUILD)/install_manifest.txt $(BUILD)/installed.txt # make bundle replaces install_manifest.txt

uninstall:
	@scripts/uninstall "$(BUILD)/installed.txt" "$(PREFIX)" "$(DESTDIR)"

deb:
	@scripts/packaging/build-deb $(BUILD) $(JOBS)

bundle: $(BUILD)/CMakeCache.txt
	@scripts/packaging/build-bundle $(BUILD) $(JOBS)

bench:
	@test -n "$(CRIU_B)" || { echo "usage: make bench CRIU_B=/path/of/another/criu" >&2; exit 2; }
	@cmake -S . -B $(BUILD) -G Ninja -DCRIU_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j$(JOBS)
	@test/bench/bench --build $(BUILD) --b $(CRIU_B) --results $(BUILD)/bench.json $(BENCH)

torture:
	@cmake -S . -B $(BUILD) -G Ninja -DCRIU_TESTS=ON >/dev/null
	@cmake --build $(BUILD) -j$(JOBS)
	@scripts/torture --build $(BUILD) --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(if $(CALLS),--calls)

plots:
	@scripts/figures $(if $(RESULTS),--results $(RESULTS))

fuzz:
	@scripts/fuzz --build $(BUILD)-sanitized --jobs $(JOBS) --seconds $(SECONDS)

asan:
	@scripts/check --build $(BUILD) --jobs $(JOBS) --only asan

tidy:
	@scripts/tidy --build $(BUILD)-tidy --jobs $(JOBS) $(FILES)

format:
	@scripts/format

format-check:
	@scripts/format --check

layers:
	@scripts/check-layers

man: all
	@scripts/manpage $(BUILD)/bin/criu

clean:
	@rm -rf $(BUILD) $(BUILD)-sanitized $(BUILD)-tidy

.PHONY: all help demo check check-gpu check-vm check-aarch64 install uninstall deb bundle bench torture plots fuzz asan tidy format format-check layers man clean
