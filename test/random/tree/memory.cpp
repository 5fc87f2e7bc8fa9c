// SPDX-License-Identifier: GPL-2.0-only
// Steps that map and change memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <unistd.h>

#include <map>

#include "builder.hpp"

namespace random_tree {

namespace {

constexpr std::size_t kPage = 4096;

int protection(const std::string& text) {
    int rights = PROT_NONE;
    for (const char letter : text) {
        rights |= letter == 'r' ? PROT_READ : letter == 'w' ? PROT_WRITE : letter == 'x' ? PROT_EXEC : 0;
    }
    return rights;
}

// Returns the part of a region that a step names by `first` and `count`. It is inside of the region.
std::span<std::byte> part(Builder& builder, const Step& step) {
    const Region& region = builder.region(step.word(1));
    const auto first = static_cast<std::size_t>(step.number("first"));
    const auto count = static_cast<std::size_t>(step.number("count", static_cast<long>(region.pages)));
    if (first + count > region.pages) {
        throw Missing("the region is shorter");
    }
    return {region.begin + first * kPage, count * kPage};
}

// Opens the file of a mapping. Returns -1 for anonymous memory.
int open_backing(Builder& builder, const Step& step, std::size_t size) {
    const std::string kind = step.text("kind", "anonymous");
    if (kind == "anonymous") {
        return -1;
    }
    const std::string& name = step.word(1);
    int fd = -1;
    if (kind == "memfd") {
        fd = require(memfd_create(name.c_str(), MFD_CLOEXEC), "memfd_create");
    } else {
        fd = require(open(builder.path(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644), "create a file");
        if (step.has("deleted")) {
            require(unlink(builder.path(name).c_str()), "unlink");
        }
    }
    const std::string text = content(size, step.number("seed"));
    require(write(fd, text.data(), text.size()), "write");
    return fd;
}

void map(Builder& builder, const Step& step) {
    const auto pages = static_cast<std::size_t>(step.number("pages", 4));
    const std::size_t size = pages * kPage;
    const int fd = open_backing(builder, step, size);
    int flags = (step.has("shared") ? MAP_SHARED : MAP_PRIVATE) | (fd < 0 ? MAP_ANONYMOUS : 0);
    flags |= (step.has("noreserve") ? MAP_NORESERVE : 0) | (step.has("growsdown") ? MAP_GROWSDOWN : 0);
    const bool reads = step.has("readonly");
    void* begin = mmap(nullptr, size, reads ? PROT_READ : PROT_READ | PROT_WRITE, flags, fd, 0);
    if (begin == MAP_FAILED) {
        fail_call("mmap");
    }
    if (fd >= 0) {
        close(fd);
    }
    auto* bytes = static_cast<std::byte*>(begin);
    const auto filled = static_cast<std::size_t>(step.number("filled", static_cast<long>(pages)));
    if (!reads && filled <= pages) {
        fill({bytes, filled * kPage}, step.number("seed"));
    }
    builder.keep(step.word(1), Region{bytes, pages});
}

// Throws Missing unless all pages are writable. process_vm_writev(2) fails where a write would end the process.
void require_writable(std::span<std::byte> memory) {
    for (std::size_t at = 0; at < memory.size(); at += kPage) {
        std::byte first{};
        iovec here{&first, 1};
        iovec there{memory.data() + at, 1};
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1 ||
            process_vm_writev(getpid(), &here, 1, &there, 1, 0) != 1) {
            throw Missing("a page isn't writable");
        }
    }
}

void write_pages(Builder& builder, const Step& step) {
    const auto memory = part(builder, step);
    require_writable(memory);
    fill(memory, step.number("seed"));
}

void protect(Builder& builder, const Step& step) {
    const auto memory = part(builder, step);
    require(mprotect(memory.data(), memory.size(), protection(step.text("rights"))), "mprotect");
}

void unmap(Builder& builder, const Step& step) {
    const auto memory = part(builder, step);
    require(munmap(memory.data(), memory.size()), "munmap");
}

void advise(Builder& builder, const Step& step) {
    const auto memory = part(builder, step);
    if (madvise(memory.data(), memory.size(), static_cast<int>(step.number("advice"))) != 0) {
        throw Missing("the kernel refuses this advice for the mapping");
    }
}

void lock_pages(Builder& builder, const Step& step) {
    const auto memory = part(builder, step);
    if (mlock2(memory.data(), memory.size(), step.has("onfault") ? MLOCK_ONFAULT : 0) != 0) {
        const int saved = errno;
        // The kernel marks the mapping as locked before it reads all pages in.
        munlock(memory.data(), memory.size());
        errno = saved;
        fail_call("mlock2");
    }
}

void move(Builder& builder, const Step& step) {
    Region& region = builder.region(step.word(1));
    const std::size_t size = region.pages * kPage;
    void* place = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
        fail_call("mmap");
    }
    void* moved = mremap(region.begin, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (moved == MAP_FAILED) {
        fail_call("mremap");
    }
    region.begin = static_cast<std::byte*>(moved);
}

void many(Builder& builder, const Step& step) {
    const auto count = static_cast<std::size_t>(step.number("count", 20));
    void* begin = mmap(nullptr, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) {
        fail_call("mmap");
    }
    auto* bytes = static_cast<std::byte*>(begin);
    fill({bytes, count * kPage}, step.number("seed"));
    for (std::size_t page = 0; page < count; page += 2) {
        require(mprotect(bytes + page * kPage, kPage, PROT_READ), "mprotect");
    }
    builder.keep(step.word(1), Region{bytes, count});
}

void grow_heap(Builder& builder, const Step& step) {
    const auto pages = static_cast<std::size_t>(step.number("pages", 4));
    void* begin = require(sbrk(static_cast<std::intptr_t>(pages * kPage)), "sbrk");
    fill({static_cast<std::byte*>(begin), pages * kPage}, step.number("seed"));
    static_cast<void>(builder);
}

void system_v(Builder& builder, const Step& step) {
    const auto pages = static_cast<std::size_t>(step.number("pages", 2));
    const int id = require(shmget(IPC_PRIVATE, pages * kPage, IPC_CREAT | 0600), "shmget");
    void* begin = shmat(id, nullptr, 0);
    if (begin == reinterpret_cast<void*>(-1)) {
        fail_call("shmat");
    }
    fill({static_cast<std::byte*>(begin), pages * kPage}, step.number("seed"));
    if (step.has("deleted")) {
        require(shmctl(id, IPC_RMID, nullptr), "IPC_RMID");
    }
    builder.keep(step.word(1), Region{static_cast<std::byte*>(begin), pages});
}

void lock_future(Builder& builder, const Step& step) {
    require(mlockall(MCL_FUTURE | (step.has("onfault") ? MCL_ONFAULT : 0)), "mlockall");
    static_cast<void>(builder);
}

}  // namespace

void add_memory_kinds(Kinds& kinds) {
    kinds["map"] = map;
    kinds["write"] = write_pages;
    kinds["protect"] = protect;
    kinds["unmap"] = unmap;
    kinds["advise"] = advise;
    kinds["mlock"] = lock_pages;
    kinds["move"] = move;
    kinds["many"] = many;
    kinds["heap"] = grow_heap;
    kinds["system-v"] = system_v;
    kinds["mlockall"] = lock_future;
}

}  // namespace random_tree
