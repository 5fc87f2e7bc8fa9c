// SPDX-License-Identifier: GPL-2.0-only
// Has buffers of a render node that another process maps than the one that made or imported them. Two processes share
// the file; one imports a buffer of a third process by it, and the other maps that. With the argument "closed" one
// process maps a buffer, and only another one has the file open.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "gpu/member.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"
#include "gpu/topology.hpp"

namespace {

constexpr std::size_t kSize = 16 * 4096;

// Reads the writes of the other process in a mapping of its own.
class Reader final : public gpu::Member {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) { works(); }
    void works() override { gpu::check(bytes_, ++turn_, "the buffer of the other process"); }
    void verify() override { works(); }

private:
    std::span<const std::byte> bytes_;
    std::uint64_t turn_ = 0;
};

// Makes a buffer and writes to it.
class Writer final : public gpu::Member {
public:
    // Writes its pid and its DMA-BUF descriptor to the pipe.
    explicit Writer(int pipe) {
        buffer_ = render_.create(kSize, AMDGPU_GEM_DOMAIN_VRAM);
        render_.map(buffer_);
        works();
        const int numbers[2] = {getpid(), render_.export_fd(buffer_)};
        gpu::expect(write(pipe, numbers, sizeof(numbers)) == sizeof(numbers), "write");
    }
    void works() override { gpu::fill(buffer_.bytes, ++turn_); }
    void verify() override { works(); }

private:
    gpu::Render render_{gpu::nodes().at(0).render_path()};
    gpu::Buffer buffer_;
    std::uint64_t turn_ = 0;
};

// Imports the writer's buffer, and has a child that maps it by the same file.
class Importer final : public gpu::Member {
public:
    // Reads pid and descriptor of the writer from the pipe.
    explicit Importer(int pipe) {
        int numbers[2];
        gpu::expect(read(pipe, numbers, sizeof(numbers)) == sizeof(numbers), "read");
        const auto process = static_cast<int>(gpu::require(syscall(SYS_pidfd_open, numbers[0], 0), "pidfd_open"));
        const auto dmabuf =
            static_cast<int>(gpu::require(syscall(SYS_pidfd_getfd, process, numbers[1], 0), "pidfd_getfd"));
        close(process);
        gpu::Buffer imported = render_.import_fd(dmabuf);
        close(dmabuf);
        reader_ = std::make_unique<gpu::Child>([&] {
            render_.map(imported);
            return std::make_unique<Reader>(imported.bytes);
        });
    }
    void works() override { reader_->works(); }
    void verify() override { reader_->end(); }

private:
    gpu::Render render_{gpu::nodes().at(0).render_path()};
    std::unique_ptr<gpu::Child> reader_;
};

class Imported {
public:
    Imported() {
        int ends[2];
        gpu::require(pipe(ends), "pipe");
        writer_ = std::make_unique<gpu::Child>([&] { return std::make_unique<Writer>(ends[1]); });
        importer_ = std::make_unique<gpu::Child>([&] { return std::make_unique<Importer>(ends[0]); });
        close(ends[0]);
        close(ends[1]);
    }

    void works() {
        writer_->works();
        importer_->works();
    }
    void end() {
        writer_->end();
        importer_->end();
    }

private:
    std::unique_ptr<gpu::Child> writer_;
    std::unique_ptr<gpu::Child> importer_;
};

// The parent maps the memory, and the child has the file open.
class Closed {
public:
    Closed() {
        const gpu::Render file(gpu::nodes().at(0).render_path());
        buffer_ = file.create(kSize, AMDGPU_GEM_DOMAIN_GTT);
        file.map(buffer_);
        gpu::fill(buffer_.bytes, ++turn_);
        child_ = std::make_unique<gpu::Child>([&] {
            munmap(buffer_.bytes.data(), buffer_.bytes.size());
            file.map(buffer_);
            return std::make_unique<Reader>(buffer_.bytes);
        });
        close(file.fd());
    }

    void works() {
        gpu::fill(buffer_.bytes, ++turn_);
        child_->works();
    }
    void end() {
        gpu::fill(buffer_.bytes, ++turn_);
        child_->end();
    }

private:
    gpu::Buffer buffer_;
    std::unique_ptr<gpu::Child> child_;
    std::uint64_t turn_ = 0;
};

template <typename T>
void live(gpu::Subject& subject) {
    T test;
    subject.wait([&] { test.works(); });
    test.end();
}

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        if (argc > 2 && argv[2] == std::string("closed"))
            live<Closed>(subject);
        else
            live<Imported>(subject);
    });
}
