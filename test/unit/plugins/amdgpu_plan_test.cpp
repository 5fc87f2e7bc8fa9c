// SPDX-License-Identifier: GPL-2.0-only
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <compel/process.hpp>

#include <filesystem>
#include <set>

#include "amdgpu_fake_kernel.hpp"
#include "amdgpu_machine.hpp"
#include "criu/base/error.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "images/fdinfo.hpp"
#include "plugins/amdgpu/image_file.hpp"
#include "plugins/amdgpu/restore.hpp"

using namespace criu;
using namespace criu::amdgpu;
using namespace criu::amdgpu::test;
using Catch::Contains;

namespace {

/// Images with files of a GPU only.
class FakeImages final : public files::FileRestore {
public:
    FakeImages() {
        REQUIRE(::mkdtemp(name_) != nullptr);
        images_.emplace(ImageDir::open(name_));
    }
    ~FakeImages() override { std::system(fmt::format("rm -rf {}", name_).c_str()); }

    void add(std::uint32_t id) {
        auto entry = std::make_unique<FileEntry>();
        file_entry__init(entry.get());
        entry->id = id;
        entry->type = FD_TYPES__EXT;
        entries_.push_back(std::move(entry));
    }
    /// Adds a process' compute state on a machine, without buffers. `drmFile` is the recorded render node of its
    /// address spaces; 0 means none. `objects` is the number of queues, events and ranges.
    void addKfd(std::uint32_t id, const Machine& machine, std::uint32_t pid, std::uint32_t drmFile = 0,
                std::uint32_t objects = 0) {
        add(id);
        auto& image = *arena_.make<CriuKfd>();
        image.pid = pid;
        image.num_of_objects = objects;
        std::vector<Topology::ImageGpu> gpus;
        for (const Node& node : machine.nodes)
            if (node.isGpu())
                gpus.push_back({node.gpuId, node.gpuId});
        machine.topology().toImage(gpus, image, arena_);
        for (KfdDeviceEntry* const gpu : list(image.device_entries, image.n_device_entries)) {
            gpu->has_drm_file = drmFile != 0 && gpu->gpu_id != 0;
            gpu->drm_file = drmFile;
        }
        writeImage(*images_, kfdImageName(FileId{id}), image.base);
    }
    void addDmabuf(std::uint32_t id, std::uint32_t object) {
        add(id);
        CriuDmabufNode image = CRIU_DMABUF_NODE__INIT;
        image.has_object = object != 0;
        image.object = object;
        image.gem_handle = 3;
        writeImage(*images_, dmabufImageName(FileId{id}), image.base);
    }
    /// Adds a render node. `minor` 0 is what the plugin of CRIU 4.2 wrote for the GPU `user`.
    void addEmptyRender(std::uint32_t id, std::uint32_t minor, std::uint32_t user = 0) {
        add(id);
        CriuRenderNode image = CRIU_RENDER_NODE__INIT;
        image.gpu_id = user;
        image.has_drm_render_minor = minor != 0;
        image.drm_render_minor = minor;
        writeImage(*images_, renderImageName(FileId{id}), image.base);
    }
    void addRender(std::uint32_t id, std::uint32_t minor, std::uint32_t object, bool imported) {
        add(id);
        auto& image = *arena_.make<CriuRenderNode>();
        image.has_drm_render_minor = 1;
        image.drm_render_minor = minor;
        image.num_of_bos = image.n_bo_entries = 1;
        image.bo_entries = arena_.messages<DrmBoEntry>(1);
        image.bo_entries[0]->handle = 3;
        image.bo_entries[0]->is_import = imported ? 1 : 0;
        image.bo_entries[0]->has_object = object != 0;
        image.bo_entries[0]->object = object;
        writeImage(*images_, renderImageName(FileId{id}), image.base);
    }

    [[nodiscard]] const model::Options& options() const override { return options_; }
    [[nodiscard]] Log& log() override { return log_; }
    [[nodiscard]] const ImageDir& images() const override { return *images_; }
    [[nodiscard]] std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind) const override {
        return std::nullopt;
    }
    [[nodiscard]] const FileEntry& entry(FileId) const override { fail("not asked for"); }
    [[nodiscard]] std::vector<const FileEntry*> entries(FdTypes type) const override {
        std::vector<const FileEntry*> found;
        for (const auto& entry : entries_)
            if (entry->type == type)
                found.push_back(entry.get());
        return found;
    }
    [[nodiscard]] bool hasProcess(TreePid) const override { return true; }
    std::shared_ptr<files::RestoredFile> file(FileId) override { fail("not asked for"); }
    /// All files belong to one process, except for holders_.
    [[nodiscard]] std::vector<FileId> besides(FileId) const override {
        std::vector<FileId> found;
        for (const auto& entry : entries_)
            found.push_back(FileId{entry->id});
        return found;
    }
    [[nodiscard]] std::vector<TreePid> users(FileId id) const override {
        const auto holder = holders_.find(id);
        return {holder == holders_.end() ? TreePid(1) : holder->second};
    }
    [[nodiscard]] bool isStandardStream(FileId /*id*/) const override { return false; }

    model::Options options_;
    StopRequest stop_;
    std::map<FileId, TreePid> holders_;

private:
    char name_[20] = "/tmp/images-XXXXXX";
    Arena arena_;
    Log log_;
    std::optional<ImageDir> images_;
    std::vector<std::unique_ptr<FileEntry>> entries_;
};

struct Plan {
    explicit Plan(FakeImages& images, const Machine& here)
        : sysfs(here),
          context{images.options(), images.log(), images.images(), inventory, images.stop_, watch},
          restore(
              kernel, context, [] { return MatchRules(); }, [] { return std::uint64_t{1} << 20; }) {
        kernel.setTopology(sysfs.root());
        restore.prepare(images);
    }
    Sysfs sysfs;
    FakeKernel kernel{AMDGPU_FAMILY_AI};
    device::Inventory inventory;
    memory::ReadWatch watch;
    device::Context context;
    AmdgpuRestore restore;
};

}  // namespace

TEST_CASE("amdgpu: images that have nothing of a GPU ask for nothing") {
    FakeImages images;
    images.add(1);  // file of another plugin
    const Plan plan(images, Machine{});
    CHECK_FALSE(plan.restore.owns(FileId{1}));
    CHECK(plan.restore.findGpu("0") == device::DeviceRestore::GpuName::NoGpus);
    CHECK(plan.kernel.calls() == 0);
}

TEST_CASE("amdgpu: a driver that knows nothing of a process is an error if images say that it should") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 1);
    std::uint32_t ownNumber = 5;
    SECTION("whom the tree calls as the process itself does") {}
    SECTION("who is the first process of a pid namespace") {
        ownNumber = 1;
    }
    std::uint32_t objects = 1;
    SECTION("unless it has neither buffers nor objects") {
        objects = 0;
    }
    images.addKfd(1, machine, ownNumber, 0, objects);
    images.holders_.emplace(FileId{1}, TreePid(5));
    Plan plan(images, machine);
    const pid_t child = ::fork();
    if (child == 0)
        for (;;)
            ::pause();
    {
        // In a private pid namespace, the process has another pid in the tree than for criu.
        compel::FrozenProcess process = compel::FrozenProcess::freeze(child);
        if (objects != 0)
            CHECK_THROWS_WITH(plan.restore.resume(process, TreePid(5)), Contains("no compute state"));
        else
            CHECK_NOTHROW(plan.restore.resume(process, TreePid(5)));
        CHECK_NOTHROW(plan.restore.resume(process, TreePid(6)));
        process.kill();
    }
    ::waitpid(child, nullptr, 0);
}

TEST_CASE("amdgpu: render nodes are opened before the compute state that uses them") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 2);
    images.addKfd(1, machine, 10);
    images.addRender(2, 128, 1, false);
    images.addDmabuf(3, 1);
    const Plan plan(images, machine);
    CHECK(plan.restore.needs(FileId{1}, images) == std::vector<FileId>{FileId{2}});
    CHECK(plan.restore.needs(FileId{2}, images).empty());
    CHECK(plan.restore.late(FileId{3}));
    CHECK_FALSE(plan.restore.late(FileId{1}));
    CHECK(plan.restore.descriptors() > 0);
}

TEST_CASE("amdgpu: if images don't name the render node's file of the driver, all its files count as one") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 1);
    images.addEmptyRender(2, 128);
    images.addEmptyRender(3, 128);
    SECTION("images of CRIU 4.2") {
        images.addKfd(1, machine, 10);
        const Plan plan(images, machine);
        CHECK(plan.restore.needs(FileId{3}, images) == std::vector<FileId>{FileId{2}});
        CHECK(plan.restore.needs(FileId{2}, images).empty());
    }
    SECTION("one that has buffers is the one") {
        images.addRender(4, 128, 1, false);
        images.addKfd(1, machine, 10);
        const Plan plan(images, machine);
        CHECK(plan.restore.needs(FileId{2}, images) == std::vector<FileId>{FileId{4}});
        CHECK(plan.restore.needs(FileId{3}, images) == std::vector<FileId>{FileId{4}});
    }
    SECTION("images that say it") {
        images.addKfd(1, machine, 10, 3);
        const Plan plan(images, machine);
        CHECK(plan.restore.needs(FileId{2}, images).empty());
        CHECK(plan.restore.needs(FileId{3}, images).empty());
    }
}

TEST_CASE("amdgpu: a render node of which only the GPU is noted is that of this GPU") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 2);
    const std::uint32_t second = machine.nodes.back().gpuId;
    images.addKfd(1, machine, 10);
    images.addEmptyRender(2, 0, second);
    images.addEmptyRender(3, machine.nodes.back().renderMinor);
    const Plan plan(images, machine);
    CHECK(plan.restore.needs(FileId{3}, images) == std::vector<FileId>{FileId{2}});
}

TEST_CASE("amdgpu: an import without owner is refused before anything is made") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 1);
    images.addKfd(1, machine, 10);
    SECTION("a DMA-BUF") {
        images.addDmabuf(2, 5);
    }
    SECTION("a DMA-BUF of CRIU 4.2") {
        images.addDmabuf(2, 0);
    }
    SECTION("a render node's buffer") {
        images.addRender(2, 128, 5, true);
    }
    CHECK_THROWS_WITH(Plan(images, machine), Contains("which no image has"));
}

TEST_CASE("amdgpu: in images of CRIU 4.2 buffers are found by their handles") {
    FakeImages images;
    images.addRender(1, 128, 0, false);
    images.addRender(2, 128, 0, true);
    images.addDmabuf(3, 0);
    CHECK_NOTHROW(Plan(images, Machine::make(kMi100, 1, 1)));
}

TEST_CASE("amdgpu: processes of one tree get the same GPUs") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 2);
    Machine renamed = machine;  // view of a process that was restored before
    renamed.gpu(0).gpuId = 0x7000;
    renamed.gpu(1).gpuId = 0x7001;
    images.addKfd(1, machine, 10);
    images.addKfd(2, renamed, 11);
    images.options_.gpuMap = {{"0x1000", "0x5001"}};
    CHECK_NOTHROW(Plan(images, Machine::make(kMi100, 1, 2, 1, 0x5000)));
}

TEST_CASE("amdgpu: a process gets the GPUs that its control group allows") {
    FakeImages images;
    images.addKfd(1, Machine::make(kMi100, 1, 1), 10);
    const Machine here = Machine::make(kMi100, 1, 8, 1, 0x5000);
    Plan plan(images, here);
    const auto allow = [&](std::set<std::size_t> allowed) {
        for (std::size_t gpu = 0; gpu < 8; ++gpu)
            if (!allowed.contains(gpu))
                std::filesystem::remove_all(plan.sysfs.node(static_cast<std::uint32_t>(gpu + 1)));
        plan.restore.visitGroups(
            {[](TreePid) { return 1; }, [](TreePid, const std::function<void()>& body) { body(); }});
    };
    SECTION("one of eight") {
        CHECK_NOTHROW(allow({5}));
    }
    SECTION("one of eight, chosen by hand") {
        images.options_.gpuMap = {{"0x1000", "0x5005"}};
        CHECK_NOTHROW(allow({5}));
    }
    SECTION("another one than was chosen") {
        images.options_.gpuMap = {{"0x1000", "0x5004"}};
        CHECK_THROWS_WITH(allow({5}), Contains("--gpu-map") && Contains("no GPU '0x5004'") && Contains("0x5005"));
    }
    SECTION("more than it had") {
        CHECK_THROWS_WITH(allow({2, 5}), Contains("had 1 GPUs") && Contains("lets it use 2"));
    }
    SECTION("none") {
        CHECK_THROWS_WITH(allow({}), Contains("had 1 GPUs") && Contains("lets it use 0"));
    }
}

TEST_CASE("amdgpu: control groups that several processes are in are looked at once") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 2);
    const std::map<pid_t, std::uint32_t> sets{{10, 1}, {11, 2}, {12, 1}};
    for (const auto& [pid, set] : sets) {
        const auto id = static_cast<std::uint32_t>(pid);
        images.addKfd(id, machine, id);
        images.holders_.emplace(FileId{id}, TreePid(pid));
    }
    Plan plan(images, machine);
    std::vector<TreePid> visited;
    plan.restore.visitGroups({[&](TreePid pid) { return sets.at(pid.value); },
                              [&](TreePid pid, const std::function<void()>& body) {
                                  visited.push_back(pid);
                                  body();
                              }});
    CHECK(visited == std::vector<TreePid>{TreePid(10), TreePid(11)});
}

TEST_CASE("amdgpu: --gpu-map is about GPUs of any of the processes") {
    FakeImages images;
    const Machine machine = Machine::make(kMi100, 1, 2);
    for (const std::size_t gone : {0U, 1U}) {
        Machine one = machine;
        const std::uint32_t id = one.gpu(gone).id;
        std::erase_if(one.nodes, [&](const Node& node) { return node.id == id; });
        for (Node& node : one.nodes)
            std::erase_if(node.links, [&](const Link& link) { return link.to == id; });
        images.addKfd(static_cast<std::uint32_t>(gone + 1), one, 10);
    }
    images.options_.gpuMap = {{"0x1000", "0x5003"}, {"0x1001", "0x5002"}};
    const Machine here = Machine::make(kMi100, 1, 4, 1, 0x5000);
    CHECK_NOTHROW(Plan(images, here));
    // The option may name a GPU of another vendor, whose subsystem checks it.
    images.options_.gpuMap.push_back({"0x9999", "0x5001"});
    const Plan plan(images, here);
    CHECK(plan.restore.findGpu("0x1001") == device::DeviceRestore::GpuName::Known);
    CHECK(plan.restore.findGpu("0x9999") == device::DeviceRestore::GpuName::Unknown);
}

TEST_CASE("amdgpu: GPUs that don't fit fail the restore before anything is made") {
    FakeImages images;
    images.addKfd(1, Machine::make(kMi100, 1, 2), 10);
    CHECK_THROWS_WITH(Plan(images, Machine::make(kMi50, 1, 2)), Contains("amdgpu-kfd-1.img") && Contains("device_id"));
    CHECK_THROWS_WITH(Plan(images, Machine{}), Contains("0 can be used"));
}
