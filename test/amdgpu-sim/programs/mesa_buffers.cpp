// SPDX-License-Identifier: GPL-2.0-only
// Holds buffers as graphics and video clients make them. Some have no CPU access; some are always valid in one address
// space and can't be exported. Others have an alignment and metadata, or lie in the high half of GPU addresses. The
// arguments "userptr" and "always_hidden" add a buffer that can't be dumped. "context" adds a context for submissions,
// and "late_context" one with a high number. "sync_object" and "late_sync_object" add synchronization objects.
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/render.hpp"
#include "gpu/subject.hpp"
#include "gpu/topology.hpp"

namespace {

constexpr std::uint64_t kCommands = 0x7000000;
constexpr std::uint64_t kStaging = 0x8000000;
constexpr std::uint64_t kHigh = 0xffff800010000000;
constexpr std::uint64_t kAlignment = 2 << 20;
constexpr std::uint32_t kLateContext = 900;
constexpr std::uint32_t kLateSyncObject = 200;
constexpr std::size_t kSize = 5 << 20;  // more than the processor copies at once

struct Piece {
    std::string name;
    gpu::Buffer buffer;
    std::uint64_t seed;
};

class Test {
public:
    explicit Test(const std::string& more) : render_(gpu::nodes().at(0).render_path()) {
        staging_ = render_.create(kSize, AMDGPU_GEM_DOMAIN_GTT);
        render_.map(staging_);
        render_.map_gpu(staging_, kStaging);
        make("hidden memory", AMDGPU_GEM_CREATE_NO_CPU_ACCESS, 0x10000000);
        make("always valid memory", AMDGPU_GEM_CREATE_VM_ALWAYS_VALID, 0x20000000);
        make("memory in the high half", 0, kHigh);
        if (more == "userptr") {
            void* place = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            render_.userptr({static_cast<std::byte*>(place), kSize});
        } else if (more == "context") {
            make_context();
        } else if (more == "late_context") {
            for (std::uint32_t made = 0; made < kLateContext; ++made)
                make_context();
            for (std::uint32_t number = 1; number < kLateContext; ++number) {
                drm_amdgpu_ctx context{};
                context.in.op = AMDGPU_CTX_OP_FREE_CTX;
                context.in.ctx_id = number;
                gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_CTX, &context) == 0, "CTX free");
            }
        } else if (more == "sync_object") {
            make_sync_object();
        } else if (more == "late_sync_object") {
            std::vector<std::uint32_t> early;
            for (std::uint32_t made = 1; made < kLateSyncObject; ++made)
                early.push_back(make_sync_object());
            make_sync_object();
            for (const std::uint32_t handle : early) {
                drm_syncobj_destroy object{};
                object.handle = handle;
                gpu::expect(render_.attempt(DRM_IOCTL_SYNCOBJ_DESTROY, &object) == 0, "SYNCOBJ_DESTROY");
            }
        } else if (more == "always_hidden") {
            make("hidden and always valid memory", AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | AMDGPU_GEM_CREATE_NO_CPU_ACCESS,
                 0x40000000);
        }
    }

    void check() {
        for (const Piece& piece : pieces_) {
            check_notes(piece);
            gpu::fill(staging_.bytes, 0);
            const std::array handles{piece.buffer.handle, staging_.handle};
            render_.copy(kStaging, piece.buffer.address, kSize, kCommands, handles);
            gpu::check(staging_.bytes, piece.seed, piece.name);
            drm_amdgpu_gem_create_in info{};
            drm_amdgpu_gem_op op{};
            op.handle = piece.buffer.handle;
            op.op = AMDGPU_GEM_OP_GET_GEM_CREATE_INFO;
            op.value = reinterpret_cast<std::uint64_t>(&info);
            gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_GEM_OP, &op) == 0, "GET_GEM_CREATE_INFO");
            gpu::expect(info.alignment == kAlignment,
                        piece.name + " is aligned to " + std::to_string(info.alignment) + " bytes");
        }
    }

private:
    void make_context() {
        drm_amdgpu_ctx context{};
        context.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
        gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_CTX, &context) == 0, "CTX alloc");
    }

    // Returns the handle.
    std::uint32_t make_sync_object() {
        drm_syncobj_create object{};
        gpu::expect(render_.attempt(DRM_IOCTL_SYNCOBJ_CREATE, &object) == 0, "SYNCOBJ_CREATE");
        return object.handle;
    }

    // Gets or sets the metadata of a buffer: tiling and other data. The first buffer has none.
    static drm_amdgpu_gem_metadata notes(const Piece& piece, std::uint32_t operation) {
        drm_amdgpu_gem_metadata arguments{};
        arguments.handle = piece.buffer.handle;
        arguments.op = operation;
        if (piece.seed % 3 != 1) {
            arguments.data.flags = piece.seed;
            arguments.data.tiling_info = piece.seed << 40;
            arguments.data.data_size_bytes = piece.seed % 3 == 0 ? 256 : 12;
            for (std::uint32_t at = 0; at < arguments.data.data_size_bytes / 4; ++at)
                arguments.data.data[at] = static_cast<std::uint32_t>(piece.seed) + at;
        }
        return arguments;
    }

    void check_notes(const Piece& piece) const {
        const drm_amdgpu_gem_metadata wanted = notes(piece, AMDGPU_GEM_METADATA_OP_GET_METADATA);
        drm_amdgpu_gem_metadata got{};
        got.handle = piece.buffer.handle;
        got.op = AMDGPU_GEM_METADATA_OP_GET_METADATA;
        gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_GEM_METADATA, &got) == 0, "GEM_METADATA");
        gpu::expect(std::memcmp(&got, &wanted, sizeof(got)) == 0, piece.name + " has other metadata");
    }

    void make(const std::string& name, std::uint64_t flags, std::uint64_t address) {
        gpu::Buffer buffer = render_.create(kSize, AMDGPU_GEM_DOMAIN_VRAM, flags, kAlignment);
        render_.map_gpu(buffer, address);
        gpu::fill(staging_.bytes, ++seed_);
        render_.copy(address, kStaging, kSize, kCommands, std::array{buffer.handle, staging_.handle});
        pieces_.push_back({name, buffer, seed_});
        drm_amdgpu_gem_metadata metadata = notes(pieces_.back(), AMDGPU_GEM_METADATA_OP_SET_METADATA);
        gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_GEM_METADATA, &metadata) == 0, "GEM_METADATA set");
        // Leaves a free handle.
        render_.close_handle(render_.create(4096, AMDGPU_GEM_DOMAIN_GTT).handle);
    }

    gpu::Render render_;
    gpu::Buffer staging_;
    std::vector<Piece> pieces_;
    std::uint64_t seed_ = 30;
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        Test test(argc > 2 ? argv[2] : "");
        test.check();
        subject.wait([&] { test.check(); });
        test.check();
    });
}
