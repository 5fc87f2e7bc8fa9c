// SPDX-License-Identifier: GPL-2.0-only
// Plays a graphics client: contexts with gaps between their numbers, submissions whose numbers the client remembers,
// memory of the process as buffer, and synchronization objects. The argument "running" leaves submissions in flight,
// and "files" opens a second file with a synchronization object.
#include <libdrm/amdgpu_drm.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/render.hpp"
#include "gpu/subject.hpp"
#include "gpu/topology.hpp"

namespace {

constexpr std::uint64_t kStaging = 0x8000000;
constexpr std::uint64_t kUser = 0x10000000;
constexpr std::uint64_t kVideo = 0x20000000;
constexpr std::uint64_t kCommands = 0x30000000;
constexpr std::uint64_t kScratchCommands = 0x7000000;
constexpr std::size_t kSize = 1 << 20;

// Structures of GEM_LIST_CONTEXTS, which headers lack.
struct ListedContext {
    std::uint32_t handle, flags;
    std::int32_t priority, override_priority;
    std::uint32_t pstate, padding;
};
struct ListContexts {
    std::uint64_t contexts;
    std::uint32_t count, padding;
};

struct Context {
    std::uint32_t number = 0;
    std::int32_t priority = 0;
    std::array<std::uint64_t, 2> last{};  // latest submission of each ring
};

struct SyncObject {
    std::uint32_t handle = 0;
    bool signalled = false;
    std::uint64_t point = 0;  // point of a timeline; 0: no timeline
};

class Test {
public:
    explicit Test(const std::string& more) : render_(gpu::nodes().at(0).render_path()) {
        staging_ = render_.create(kSize, AMDGPU_GEM_DOMAIN_GTT);
        render_.map(staging_);
        render_.map_gpu(staging_, kStaging);
        video_ = render_.create(kSize, AMDGPU_GEM_DOMAIN_VRAM);
        render_.map_gpu(video_, kVideo);
        commands_ = render_.create(65536, AMDGPU_GEM_DOMAIN_GTT);
        render_.map(commands_);
        render_.map_gpu(commands_, kCommands);
        void* place = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        user_ = render_.userptr({static_cast<std::byte*>(place), kSize});
        render_.map_gpu(user_, kUser);
        gpu::fill(user_.bytes, 7);

        make_contexts();
        for (std::uint64_t count = 0; count < 40; ++count)
            submit(contexts_[0], 0, 4096);
        for (std::uint64_t count = 0; count < 3; ++count)
            submit(contexts_[0], 1, 4096);
        submit(contexts_[1], 1, 4096);
        make_sync_objects(render_);
        if (more == "running") {
            // The last submission writes to memory of the process.
            gpu::fill(staging_.bytes, ++seed_);
            for (std::uint64_t count = 0; count < 8; ++count)
                submit(contexts_[1], 0, kSize, count == 7 ? kUser : kStaging);
        }
        if (more == "files") {
            other_.emplace_back(gpu::nodes().at(0).render_path());
            drm_syncobj_create object{};
            gpu::expect(other_.back().attempt(DRM_IOCTL_SYNCOBJ_CREATE, &object) == 0, "SYNCOBJ_CREATE");
        }
    }

    // Checks the state, and submits more.
    void check() {
        check_contexts();
        check_sync_objects();
        gpu::check(user_.bytes, seed_, "memory of the process");
        // The GPU reads and writes memory of the process.
        render_.copy(kVideo, kUser, kSize, kScratchCommands, std::array{video_.handle, user_.handle});
        gpu::fill(staging_.bytes, 0);
        render_.copy(kStaging, kVideo, kSize, kScratchCommands, std::array{staging_.handle, video_.handle});
        gpu::check(staging_.bytes, seed_, "what the GPU read from the process");
        gpu::fill(staging_.bytes, ++seed_);
        render_.copy(kUser, kStaging, kSize, kScratchCommands, std::array{staging_.handle, user_.handle});
        gpu::check(user_.bytes, seed_, "what the GPU wrote to the process");
    }

private:
    std::uint32_t allocate(std::int32_t priority) const {
        drm_amdgpu_ctx context{};
        context.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
        context.in.priority = priority;
        gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_CTX, &context) == 0, "CTX alloc");
        return context.out.alloc.ctx_id;
    }

    void free(std::uint32_t number) const {
        drm_amdgpu_ctx context{};
        context.in.op = AMDGPU_CTX_OP_FREE_CTX;
        context.in.ctx_id = number;
        gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_CTX, &context) == 0, "CTX free");
    }

    void make_contexts() {
        const std::uint32_t first = allocate(0);
        contexts_.push_back({allocate(AMDGPU_CTX_PRIORITY_HIGH), AMDGPU_CTX_PRIORITY_HIGH});
        const std::uint32_t third = allocate(0);
        contexts_.push_back({allocate(AMDGPU_CTX_PRIORITY_LOW), AMDGPU_CTX_PRIORITY_LOW});
        free(first);
        free(third);
    }

    // Copies a part of the staging buffer. Doesn't wait.
    void submit(Context& context, std::uint32_t ring, std::uint32_t bytes, std::uint64_t to = kStaging) {
        const std::array<std::uint32_t, 8> words{1, gpu::copy_count(render_.family(), bytes), 0, kStaging,
                                                 0, static_cast<std::uint32_t>(to),           0, 0};
        const std::uint64_t place = used_++ % 64 * sizeof(words);
        std::memcpy(commands_.bytes.data() + place, words.data(), sizeof(words));
        const std::array<drm_amdgpu_bo_list_entry, 3> entries{
            {{staging_.handle, 0}, {commands_.handle, 0}, {user_.handle, 0}}};
        drm_amdgpu_bo_list_in list{};
        list.operation = list.list_handle = ~0U;
        list.bo_number = entries.size();
        list.bo_info_size = sizeof(entries[0]);
        list.bo_info_ptr = reinterpret_cast<std::uint64_t>(entries.data());
        drm_amdgpu_cs_chunk_ib buffer{};
        buffer.va_start = kCommands + place;
        buffer.ib_bytes = sizeof(words);
        buffer.ip_type = AMDGPU_HW_IP_DMA;
        buffer.ring = ring;
        std::array<drm_amdgpu_cs_chunk, 2> chunks{
            {{AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, reinterpret_cast<std::uint64_t>(&list)},
             {AMDGPU_CHUNK_ID_IB, sizeof(buffer) / 4, reinterpret_cast<std::uint64_t>(&buffer)}}};
        std::array<std::uint64_t, 2> pointers{reinterpret_cast<std::uint64_t>(&chunks[0]),
                                              reinterpret_cast<std::uint64_t>(&chunks[1])};
        drm_amdgpu_cs submission{};
        submission.in.ctx_id = context.number;
        submission.in.num_chunks = chunks.size();
        submission.in.chunks = reinterpret_cast<std::uint64_t>(pointers.data());
        gpu::expect(render_.attempt(DRM_IOCTL_AMDGPU_CS, &submission) == 0, "CS");
        gpu::expect(submission.out.handle == context.last[ring] + 1,
                    "context " + std::to_string(context.number) + " numbers a submission " +
                        std::to_string(submission.out.handle) + ", not " + std::to_string(context.last[ring] + 1));
        context.last[ring] = submission.out.handle;
    }

    // Returns 0 or errno, and sets `busy`.
    int wait(const Context& context, std::uint32_t ring, std::uint64_t number, bool& busy) const {
        drm_amdgpu_wait_cs arguments{};
        arguments.in.handle = number;
        arguments.in.timeout = ~0ULL;
        arguments.in.ip_type = AMDGPU_HW_IP_DMA;
        arguments.in.ring = ring;
        arguments.in.ctx_id = context.number;
        const int error = render_.attempt(DRM_IOCTL_AMDGPU_WAIT_CS, &arguments);
        busy = error == 0 && arguments.out.status != 0;
        return error;
    }

    void check_contexts() {
        std::array<ListedContext, 8> listed{};
        ListContexts list{reinterpret_cast<std::uint64_t>(listed.data()), listed.size(), 0};
        gpu::expect(render_.attempt(DRM_IOWR(DRM_COMMAND_BASE + 0x20, ListContexts), &list) == 0, "GEM_LIST_CONTEXTS");
        gpu::expect(list.count == contexts_.size(), "there are " + std::to_string(list.count) + " contexts");
        for (std::size_t at = 0; at < contexts_.size(); ++at) {
            Context& context = contexts_[at];
            gpu::expect(listed[at].handle == context.number && listed[at].priority == context.priority,
                        "context " + std::to_string(listed[at].handle) + " has priority " +
                            std::to_string(listed[at].priority));
            for (std::uint32_t ring = 0; ring < context.last.size(); ++ring) {
                bool busy = false;
                gpu::expect(wait(context, ring, context.last[ring], busy) == 0 && !busy,
                            "the latest submission isn't complete");
                gpu::expect(wait(context, ring, context.last[ring] + 1, busy) == EINVAL,
                            "a submission that never was is known");
                submit(context, ring, 4096);
            }
        }
        // Free numbers stay free.
        const std::uint32_t number = allocate(0);
        gpu::expect(number == 1, "a new context has the number " + std::to_string(number));
        free(number);
    }

    void make_sync_objects(const gpu::Render& render) {
        std::array<std::uint32_t, 5> handles{};
        for (std::uint32_t& handle : handles) {
            drm_syncobj_create object{};
            gpu::expect(render.attempt(DRM_IOCTL_SYNCOBJ_CREATE, &object) == 0, "SYNCOBJ_CREATE");
            handle = object.handle;
        }
        drm_syncobj_destroy unwanted{};
        unwanted.handle = handles[1];
        gpu::expect(render.attempt(DRM_IOCTL_SYNCOBJ_DESTROY, &unwanted) == 0, "SYNCOBJ_DESTROY");
        objects_ = {{handles[0], false, 0}, {handles[2], true, 0}, {handles[3], true, 12}, {handles[4], false, 0}};
        for (const SyncObject& object : objects_) {
            if (!object.signalled)
                continue;
            drm_syncobj_timeline_array timeline{};
            timeline.handles = reinterpret_cast<std::uint64_t>(&object.handle);
            timeline.points = reinterpret_cast<std::uint64_t>(&object.point);
            timeline.count_handles = 1;
            if (object.point != 0) {
                gpu::expect(render.attempt(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &timeline) == 0, "TIMELINE_SIGNAL");
                continue;
            }
            drm_syncobj_array array{};
            array.handles = timeline.handles;
            array.count_handles = 1;
            gpu::expect(render.attempt(DRM_IOCTL_SYNCOBJ_SIGNAL, &array) == 0, "SYNCOBJ_SIGNAL");
        }
    }

    void check_sync_objects() {
        for (SyncObject& object : objects_) {
            const std::string name = "synchronization object " + std::to_string(object.handle);
            std::uint64_t point = ~0ULL;
            drm_syncobj_timeline_array query{};
            query.handles = reinterpret_cast<std::uint64_t>(&object.handle);
            query.points = reinterpret_cast<std::uint64_t>(&point);
            query.count_handles = 1;
            gpu::expect(render_.attempt(DRM_IOCTL_SYNCOBJ_QUERY, &query) == 0, name + " is gone");
            gpu::expect(point == object.point, name + " is at " + std::to_string(point));
            drm_syncobj_wait wait{};
            wait.handles = query.handles;
            wait.count_handles = 1;
            const int error = render_.attempt(DRM_IOCTL_SYNCOBJ_WAIT, &wait);
            gpu::expect(error == (object.signalled ? 0 : EINVAL), name + ": a wait ends with " + std::to_string(error));
            if (object.point != 0) {
                ++object.point;
                query.points = reinterpret_cast<std::uint64_t>(&object.point);
                gpu::expect(render_.attempt(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &query) == 0, "TIMELINE_SIGNAL");
            }
        }
        drm_syncobj_create fresh{};
        gpu::expect(render_.attempt(DRM_IOCTL_SYNCOBJ_CREATE, &fresh) == 0 && fresh.handle == 2,
                    "a new synchronization object has the handle " + std::to_string(fresh.handle));
        drm_syncobj_destroy unwanted{};
        unwanted.handle = fresh.handle;
        gpu::expect(render_.attempt(DRM_IOCTL_SYNCOBJ_DESTROY, &unwanted) == 0, "SYNCOBJ_DESTROY");
    }

    gpu::Render render_;
    gpu::Buffer staging_, video_, commands_, user_;
    std::vector<Context> contexts_;
    std::vector<SyncObject> objects_;
    std::vector<gpu::Render> other_;
    std::uint64_t seed_ = 7;
    std::uint64_t used_ = 0;  // submissions, each with a place of its own in the command buffer
};

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject& subject) {
        Test test(argc > 2 ? argv[2] : "");
        if (argc < 3)
            test.check();
        subject.wait([&] { test.check(); });
        test.check();
    });
}
