# The names people type. The build itself is CMake's (CMakeLists.txt).
BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS)

$(BUILD)/CMakeCache.txt:
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$(PREFIX)

.PHONY: all
