// SPDX-License-Identifier: GPL-2.0-only
// Holds buffers of render nodes: made on two GPUs, imported by the other GPU and by a second file of the same one, and
// mapped in parts and several times. Contents, handles and GPU addresses stay.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"

namespace {

constexpr std::uint64_t kCommands = 0x7000000;
constexpr std::uint64_t kStagingAddress = 0x8000000;

struct Piece {
    std::string name;
    std::size_t file;  // index of the render file
    gpu::Buffer buffer;
    std::uint64_t seed;
};

class Test {
public:
    Test() {
        const std::vector<gpu::Node> nodes = gpu::nodes();
        gpu::expect(nodes.size() >= 2, "this test wants two GPUs");
        files_ = {gpu::Render(nodes[0].render_path()), gpu::Render(nodes[1].render_path()),
                  gpu::Render(nodes[0].render_path())};
        std::uint64_t address = 0x10000000;
        std::vector<std::pair<std::size_t, std::uint32_t>> freed;  // handles to free later
        for (std::size_t file = 0; file < files_.size(); ++file) {
            const std::string at = " of file " + std::to_string(file);
            make("VRAM" + at, file, 1 << 20, AMDGPU_GEM_DOMAIN_VRAM, address);
            make("system memory" + at, file, 300 * gpu::kPage, AMDGPU_GEM_DOMAIN_GTT, address);
            for (std::size_t count = 0; count < 3; ++count) {
                freed.emplace_back(file, files_[file].create(gpu::kPage, AMDGPU_GEM_DOMAIN_GTT).handle);
            }
            make("either" + at, file, gpu::kPage, AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT, address);
        }
        const gpu::Buffer shared = pieces_.front().buffer;
        import("the first buffer on the other GPU", 1, shared, pieces_.front().seed, address);
        import("the first buffer in another file of its GPU", 2, shared, pieces_.front().seed, address);
        map_in_parts(address);
        for (std::size_t file = 0; file < files_.size(); ++file) {
            gpu::Buffer staging = files_[file].create(1 << 21, AMDGPU_GEM_DOMAIN_GTT);
            files_[file].map(staging);
            files_[file].map_gpu(staging, kStagingAddress);
            staging_.push_back(staging);
        }
        for (const auto& [file, handle] : freed) {
            files_[file].close_handle(handle);
        }
    }

    void works() {
        check_by_gpu(pieces_.front());
        check_by_gpu(pieces_.back());
    }

    void verify() {
        for (const Piece& piece : pieces_) {
            if (!piece.buffer.bytes.empty()) {
                gpu::check(piece.buffer.bytes, piece.seed, piece.name);
            }
            check_by_gpu(piece);
        }
        check_parts();
        check_sharing();
        for (std::size_t file = 0; file < files_.size(); ++file) {
            const gpu::Buffer fresh = files_[file].create(gpu::kPage, AMDGPU_GEM_DOMAIN_GTT);
            for (const Piece& piece : pieces_) {
                gpu::expect(piece.file != file || piece.buffer.handle != fresh.handle,
                            "a new buffer has the handle of " + piece.name);
            }
        }
    }

private:
    void make(const std::string& name, std::size_t file, std::size_t size, std::uint64_t domain,
              std::uint64_t& address) {
        gpu::Buffer buffer = files_[file].create(size, domain);
        files_[file].map(buffer);
        files_[file].map_gpu(buffer, address);
        address += 1 << 24;
        gpu::fill(buffer.bytes, ++seed_);
        pieces_.push_back({name, file, buffer, seed_});
    }

    void import(const std::string& name, std::size_t file, const gpu::Buffer& from, std::uint64_t seed,
                std::uint64_t& address) {
        const int fd = files_[0].export_fd(from);
        gpu::Buffer buffer = files_[file].import_fd(fd);
        close(fd);
        gpu::expect(buffer.size == from.size, "an imported buffer has another size");
        files_[file].map_gpu(buffer, address);
        address += 1 << 24;
        pieces_.push_back({name, file, buffer, seed});
    }

    // Maps the halves of one buffer in reverse order on the GPU.
    void map_in_parts(std::uint64_t address) {
        parts_ = files_[1].create(2 * gpu::kPage, AMDGPU_GEM_DOMAIN_VRAM);
        files_[1].map(parts_);
        gpu::fill(parts_.bytes, 77);
        files_[1].map_gpu(parts_, address + gpu::kPage, 0, gpu::kPage);
        files_[1].map_gpu(parts_, address, gpu::kPage, gpu::kPage);
    }

    void check_parts() {
        const std::array handles{parts_.handle, staging_[1].handle};
        files_[1].copy(kStagingAddress, parts_.address, 2 * gpu::kPage, kCommands, handles);
        const std::span<std::byte> got = staging_[1].bytes.first(2 * gpu::kPage);
        gpu::check(parts_.bytes, 77, "the buffer that is mapped in parts");
        for (std::size_t at = 0; at < gpu::kPage; ++at) {
            gpu::expect(got[at] == parts_.bytes[gpu::kPage + at] && got[gpu::kPage + at] == parts_.bytes[at],
                        "the parts of a buffer are in the wrong places on the GPU");
        }
    }

    // A write through one file must be visible through the others: they share one buffer.
    void check_sharing() {
        const Piece& owner = pieces_.front();
        gpu::fill(owner.buffer.bytes, 999);
        for (const Piece& piece : pieces_) {
            if (&piece != &owner && piece.seed == owner.seed) {
                check_by_gpu({piece.name + " after a change by its owner", piece.file, piece.buffer, 999});
            }
        }
    }

    void check_by_gpu(const Piece& piece) {
        const std::span<std::byte> target = staging_[piece.file].bytes.first(piece.buffer.size);
        gpu::fill(target, 0);
        const std::array handles{piece.buffer.handle, staging_[piece.file].handle};
        files_[piece.file].copy(kStagingAddress, piece.buffer.address, piece.buffer.size, kCommands, handles);
        gpu::check(target, piece.seed, piece.name + ", as the GPU sees it");
    }

    gpu::Kfd kfd_;  // programs that compute have it open, too
    std::vector<gpu::Render> files_;
    std::vector<Piece> pieces_;
    std::vector<gpu::Buffer> staging_;
    gpu::Buffer parts_;
    std::uint64_t seed_ = 500;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject& subject) {
        Test test;
        test.works();
        subject.wait([&] { test.works(); });
        test.verify();
    });
}
