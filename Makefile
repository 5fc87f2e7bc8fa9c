# The names people type. The build itself is CMake's (CMakeLists.txt).
BUILD  ?= build
PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)

all: $(BUILD)/CMakeCache.txt
	@cmake --build $(BUILD) -j$(JOBS)

$(BUILD)/CMakeCache.txt:
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$(PREFIX)

# Fuzz targets, in $(BUILD)-fuzz/test/fuzz.
fuzz:
	@cmake -S . -B $(BUILD)-fuzz -G Ninja -DCRIU_FUZZ=ON -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++
	@cmake --build $(BUILD)-fuzz -j$(JOBS) --target fuzz

.PHONY: all fuzz
