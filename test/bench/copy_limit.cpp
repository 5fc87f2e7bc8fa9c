// SPDX-License-Identifier: GPL-2.0-only
// Measures the memory throughput of this machine: copy_limit MIB FOLDER prints "NAME THREADS GB/s" lines. FOLDER should
// be a tmpfs.
//   read   process_vm_readv from another process, then pwrite into a file: the work of a dump
//   write  pread of that file into fresh private memory: the work of a restore
// Each runs once to warm up and three times measured. The best result counts, because it is a limit.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t block = 1 << 20;

[[noreturn]] void die(const char* what) {
    perror(what);
    exit(1);
}

void require(ssize_t got, std::size_t wanted, const char* what) {
    if (got != static_cast<ssize_t>(wanted)) {
        die(what);
    }
}

std::byte* fresh(std::size_t size) {
    void* const map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        die("mmap");
    }
    return static_cast<std::byte*>(map);
}

// Divides [0, size) evenly between threads; returns GB/s.
double rate(std::size_t size, unsigned threads, const std::function<void(std::size_t, std::size_t)>& work) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> pool;
    const std::size_t share = size / threads / block * block;
    for (unsigned i = 0; i < threads; ++i) {
        pool.emplace_back(work, i * share, i + 1 == threads ? size : (i + 1) * share);
    }
    for (std::thread& thread : pool) {
        thread.join();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(size) / seconds.count() / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        fputs("usage: copy_limit MIB FOLDER\n", stderr);
        return 2;
    }
    const std::size_t size = static_cast<std::size_t>(atol(argv[1])) << 20;
    std::byte* const memory = fresh(size);
    memset(memory, 0x5a, size);
    const pid_t other = fork();
    if (other < 0) {
        die("fork");
    }
    if (other == 0) {
        for (;;) {
            pause();
        }
    }
    const std::string path = std::string(argv[2]) + "/copy-limit";
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<unsigned> counts{1};
    for (unsigned count = 2; count <= cores; count *= 2) {
        counts.push_back(count);
    }
    for (const unsigned threads : counts) {
        double read_best = 0;
        double write_best = 0;
        for (int turn = 0; turn < 4; ++turn) {
            unlink(path.c_str());
            const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            if (file < 0) {
                die(path.c_str());
            }
            const double read_rate = rate(size, threads, [&](std::size_t begin, std::size_t end) {
                std::vector<std::byte> buffer(block);
                for (std::size_t at = begin; at < end; at += block) {
                    const iovec to{buffer.data(), block};
                    const iovec from{memory + at, block};
                    require(process_vm_readv(other, &to, 1, &from, 1, 0), block, "process_vm_readv");
                    require(pwrite(file, buffer.data(), block, static_cast<off_t>(at)), block, "pwrite");
                }
            });
            std::byte* const target = fresh(size);
            const double write_rate = rate(size, threads, [&](std::size_t begin, std::size_t end) {
                for (std::size_t at = begin; at < end; at += block) {
                    require(pread(file, target + at, block, static_cast<off_t>(at)), block, "pread");
                }
            });
            munmap(target, size);
            close(file);
            if (turn > 0) {
                read_best = std::max(read_best, read_rate);
                write_best = std::max(write_best, write_rate);
            }
        }
        printf("read %u %.2f\nwrite %u %.2f\n", threads, read_best, threads, write_best);
        fflush(stdout);
    }
    unlink(path.c_str());
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
}
