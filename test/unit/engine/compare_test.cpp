// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <sys/mman.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/engine/compare/checkpoint_comparison.hpp"
#include "criu/engine/compare/field_rules.hpp"
#include "criu/engine/compare/mapping_lists.hpp"
#include "criu/engine/compare/raw_images.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "image_fixture.hpp"
#include "images/core.hpp"
#include "images/creds.hpp"
#include "images/fdinfo.hpp"
#include "images/fs.hpp"
#include "images/inventory.hpp"
#include "images/mm.hpp"
#include "images/mnt.hpp"
#include "images/pipe-data.hpp"
#include "images/pstree.hpp"
#include "images/rseq.hpp"
#include "images/siginfo.hpp"
#include "images/timer.hpp"
#include "images/utsns.hpp"
#include "stored_pages.hpp"

using Catch::Contains;
using Catch::Equals;
using namespace criu;
using criu::engine::compareCheckpoints;
using criu::engine::Differences;

namespace {

constexpr std::uint32_t kPid = 7;
constexpr std::size_t kPages = 4;
constexpr std::uint32_t kNoId = ~std::uint32_t{0};

/// Checkpoint of one process with a pipe and a file. The members are the state that a test changes.
struct Sample {
    std::uint32_t ids = 0;    ///< added to all ids that criu hands out
    bool isReversed = false;  ///< true if lists without order are written in reverse order
    std::vector<std::uint32_t> pids{kPid};
    std::uint64_t instruction = 0x1000;
    std::uint64_t call = 35;
    std::uint32_t uid = 1000;
    std::uint32_t taskState = 1;
    std::uint64_t remaining = 5;  ///< seconds of the real timer
    std::uint64_t interval = 0;
    std::vector<int> signals;
    int signalCode = SI_USER;
    std::uint64_t position = 3;
    std::uint32_t flags = 2;
    bool hasFile = true;
    std::uint32_t fileOfBoth = 0;  ///< 1 if fd 5 is the open file description of fd 3
    std::string piped = "piped";
    std::string host = "host";
    std::uint32_t mountFlags = 1;
    std::uint32_t protection = PROT_READ | PROT_WRITE;
    std::vector<std::byte> memory = std::vector<std::byte>(kPages * kImagePageSize);
    std::uint64_t areaPointer = 0;  ///< address of a registered rseq area
    std::uint64_t divided = 0;      ///< address at which the mapping is divided
    bool hasUnknownField = false;
    std::uint32_t program = 1;  ///< file of the program; ~0: none
};

template <Message T>
void writeOne(const ImageDir& images, ImageKind kind, std::uint64_t number, const T& entry) {
    ImageWriter image = images.create(kind, number);
    image.write(entry);
    image.finish();
}

void writeSampleInventory(const ImageDir& images, const Sample& sample) {
    TaskKobjIdsEntry own = TASK_KOBJ_IDS_ENTRY__INIT;
    own.has_net_ns_id = 1;
    own.net_ns_id = 2 + sample.ids;
    InventoryEntry inventory = INVENTORY_ENTRY__INIT;
    inventory.img_version = 2;
    inventory.root_ids = &own;
    writeOne(images, ImageKind::Inventory, 0, inventory);
}

void writeSampleTree(const ImageDir& images, const Sample& sample) {
    ImageWriter tree = images.create(ImageKind::Pstree);
    for (const std::uint32_t pid : sample.pids) {
        std::uint32_t thread = pid;
        PstreeEntry process = PSTREE_ENTRY__INIT;
        process.pid = process.pgid = process.sid = pid;
        process.ppid = pid == kPid ? 0 : kPid;
        process.n_threads = 1;
        process.threads = &thread;
        tree.write(process);
    }
    tree.finish();
}

void writeSampleCore(const ImageDir& images, const Sample& sample) {
    UserX86RegsEntry registers = USER_X86_REGS_ENTRY__INIT;
    registers.ip = sample.instruction;
    registers.orig_ax = sample.call;
    UserX86FpregsEntry extended = USER_X86_FPREGS_ENTRY__INIT;
    ThreadInfoX86 machine = THREAD_INFO_X86__INIT;
    machine.gpregs = &registers;
    machine.fpregs = &extended;
    CredsEntry rights = CREDS_ENTRY__INIT;
    rights.uid = sample.uid;
    RseqEntry area = RSEQ_ENTRY__INIT;
    area.rseq_abi_pointer = sample.areaPointer;
    area.rseq_abi_size = 32;
    ThreadCoreEntry thread = THREAD_CORE_ENTRY__INIT;
    thread.creds = &rights;
    thread.rseq_entry = sample.areaPointer != 0 ? &area : nullptr;
    ItimerEntry real = ITIMER_ENTRY__INIT;
    real.vsec = sample.remaining;
    real.isec = sample.interval;
    ItimerEntry unused = ITIMER_ENTRY__INIT;
    TaskTimersEntry timers = TASK_TIMERS_ENTRY__INIT;
    timers.real = &real;
    timers.virt = timers.prof = &unused;
    std::vector<siginfo_t> infos(sample.signals.size());
    std::vector<SiginfoEntry> entries(infos.size());
    std::vector<SiginfoEntry*> pointers;
    for (std::size_t i = 0; i < infos.size(); ++i) {
        infos[i].si_signo = sample.signals[i];
        infos[i].si_code = sample.signalCode;
        entries[i] = SIGINFO_ENTRY__INIT;
        entries[i].siginfo = fieldOf(std::as_bytes(std::span(&infos[i], 1)));
        pointers.push_back(&entries[i]);
    }
    SignalQueueEntry queue = SIGNAL_QUEUE_ENTRY__INIT;
    queue.n_signals = pointers.size();
    queue.signals = pointers.data();
    std::string name = "sample";
    TaskCoreEntry process = TASK_CORE_ENTRY__INIT;
    process.task_state = sample.taskState;
    process.comm = name.data();
    process.timers = &timers;
    process.signals_s = &queue;
    CoreEntry core = CORE_ENTRY__INIT;
    core.mtype = CORE_ENTRY__MARCH__X86_64;
    core.thread_info = &machine;
    core.tc = &process;
    core.thread_core = &thread;
    std::uint8_t value[] = {8, 1};
    ProtobufCMessageUnknownField unknown{4999, PROTOBUF_C_WIRE_TYPE_VARINT, 1, value};
    if (sample.hasUnknownField) {
        core.base.n_unknown_fields = 1;
        core.base.unknown_fields = &unknown;
    }
    for (const std::uint32_t pid : sample.pids)
        writeOne(images, ImageKind::Core, pid, core);
}

void writeSampleIds(const ImageDir& images, const Sample& sample) {
    TaskKobjIdsEntry ids = TASK_KOBJ_IDS_ENTRY__INIT;
    ids.vm_id = ids.fs_id = ids.sighand_id = ids.files_id = 20 + sample.ids;
    ids.has_net_ns_id = ids.has_uts_ns_id = ids.has_mnt_ns_id = 1;
    ids.net_ns_id = 2 + sample.ids;
    ids.uts_ns_id = 10 + sample.ids;
    ids.mnt_ns_id = 11 + sample.ids;
    FsEntry paths = FS_ENTRY__INIT;
    paths.cwd_id = paths.root_id = 1 + sample.ids;
    for (const std::uint32_t pid : sample.pids) {
        writeOne(images, ImageKind::Ids, pid, ids);
        writeOne(images, ImageKind::Fs, pid, paths);
    }
    std::string host = sample.host;
    UtsnsEntry names = UTSNS_ENTRY__INIT;
    names.nodename = names.domainname = host.data();
    writeOne(images, ImageKind::Utsns, 10 + sample.ids, names);
}

void writeSampleMounts(const ImageDir& images, const Sample& sample) {
    std::string root = "/";
    std::string below = "/mnt";
    std::vector<MntEntry> mounts(2, MNT_ENTRY__INIT);
    for (MntEntry& mount : mounts)
        mount.root = mount.source = mount.options = mount.mountpoint = root.data();
    mounts[0].mnt_id = 100 + sample.ids;
    mounts[0].parent_mnt_id = 1 + sample.ids;
    mounts[1].mnt_id = 101 + sample.ids;
    mounts[1].parent_mnt_id = 100 + sample.ids;
    mounts[1].mountpoint = below.data();
    mounts[1].flags = sample.mountFlags;
    if (sample.isReversed)
        std::swap(mounts[0], mounts[1]);
    ImageWriter image = images.create(ImageKind::Mountpoints, 11 + sample.ids);
    for (const MntEntry& mount : mounts)
        image.write(mount);
    image.finish();
}

void writeSampleFiles(const ImageDir& images, const Sample& sample) {
    FownEntry owner = FOWN_ENTRY__INIT;
    std::string path = "/file";
    const auto describe = [&](std::uint32_t id) {
        RegFileEntry file = REG_FILE_ENTRY__INIT;
        file.id = id;
        file.fown = &owner;
        file.name = path.data();
        return file;
    };
    RegFileEntry directory = describe(1 + sample.ids);
    RegFileEntry file = describe(2 + sample.ids);
    file.pos = sample.position;
    file.flags = sample.flags;
    PipeEntry pipe = PIPE_ENTRY__INIT;
    pipe.id = 3 + sample.ids;
    pipe.pipe_id = 50 + sample.ids;
    pipe.fown = &owner;
    RegFileEntry other = describe(4 + sample.ids);
    other.pos = sample.position;
    other.flags = sample.flags;
    std::vector<FileEntry> entries(4, FILE_ENTRY__INIT);
    entries[0].type = entries[1].type = entries[3].type = FD_TYPES__REG;
    entries[2].type = FD_TYPES__PIPE;
    entries[0].reg = &directory;
    entries[1].reg = &file;
    entries[2].pipe = &pipe;
    entries[3].reg = &other;
    ImageWriter files = images.create(ImageKind::Files);
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
        entries[i].id = i + 1 + sample.ids;
        if ((i == 3 && sample.fileOfBoth != 0) || (i == 1 && !sample.hasFile))
            continue;
        files.write(entries[i]);
    }
    files.finish();

    ImageWriter table = images.create(ImageKind::Fdinfo, 20 + sample.ids);
    const auto addDescriptor = [&](std::uint32_t fd, std::uint32_t id, FdTypes type) {
        FdinfoEntry entry = FDINFO_ENTRY__INIT;
        entry.fd = fd;
        entry.id = id + sample.ids;
        entry.type = type;
        table.write(entry);
    };
    if (sample.hasFile)
        addDescriptor(3, 2, FD_TYPES__REG);
    addDescriptor(4, 3, FD_TYPES__PIPE);
    addDescriptor(5, sample.fileOfBoth != 0 ? 2 : 4, FD_TYPES__REG);
    table.finish();

    PipeDataEntry data = PIPE_DATA_ENTRY__INIT;
    data.pipe_id = 50 + sample.ids;
    data.bytes = static_cast<std::uint32_t>(sample.piped.size());
    ImageWriter content = images.create(ImageKind::PipesData);
    content.write(data);
    content.payload(std::as_bytes(std::span(sample.piped)));
    content.finish();
}

void writeSampleMemory(const ImageDir& images, const Sample& sample) {
    const std::uint64_t end = test::kStoredStart + sample.memory.size();
    VmaEntry mapping = VMA_ENTRY__INIT;
    mapping.start = test::kStoredStart;
    mapping.end = sample.divided != 0 ? sample.divided : end;
    mapping.prot = sample.protection;
    mapping.flags = MAP_PRIVATE | MAP_ANONYMOUS;
    mapping.status = memory::VmaStatus::Regular | memory::VmaStatus::AnonPrivate;
    VmaEntry second = mapping;
    second.start = sample.divided;
    second.end = end;
    VmaEntry* mappings[] = {&mapping, &second};
    MmEntry memory = MM_ENTRY__INIT;
    memory.exe_file_id = sample.program == kNoId ? kNoId : sample.program + sample.ids;
    memory.n_vmas = sample.divided != 0 ? 2 : 1;
    memory.vmas = mappings;
    memory::FilePageSinks sinks(images);
    for (const std::uint32_t pid : sample.pids) {
        writeOne(images, ImageKind::Mm, pid, memory);
        const auto sink =
            sinks.open(memory::MemoryObject::process(TreePid(static_cast<pid_t>(pid))), sample.memory.size());
        const memory::PageRun run{test::kStoredStart, sample.memory.size(), PageFlags::Present};
        sink->add({&run, 1});
        const kernel::RemoteRange range{test::kStoredStart, sample.memory.size()};
        sink->write({0, {&range, 1}, sample.memory});
        sink->finish();
    }
}

/// Images of a sample.
class SampleImages {
public:
    explicit SampleImages(const Sample& sample) : images_(place_.images()) {
        writeSampleInventory(images_, sample);
        writeSampleTree(images_, sample);
        writeSampleCore(images_, sample);
        writeSampleIds(images_, sample);
        writeSampleMounts(images_, sample);
        writeSampleFiles(images_, sample);
        writeSampleMemory(images_, sample);
    }
    [[nodiscard]] const ImageDir& dir() const noexcept { return images_; }

private:
    test::TemporaryDir place_;
    ImageDir images_;
};

std::string comparedImages(const SampleImages& image, const SampleImages& tree) {
    return compareCheckpoints(image.dir(), tree.dir(), [] {}).text();
}

/// Returns the report about a tree that `change` makes of the first sample. Ids and orders differ, too.
std::string reportOf(const std::function<void(Sample&)>& change, const Sample& before = {}) {
    Sample now = before;
    now.ids = 1000;
    now.isReversed = true;
    change(now);
    return comparedImages(SampleImages(before), SampleImages(now));
}

constexpr const char* kNoDifference = "The tree equals the images.\n";

}  // namespace

TEST_CASE("a tree with other ids and orders equals its images") {
    CHECK_THAT(reportOf([](Sample&) {}), Equals(kNoDifference));
}

TEST_CASE("a comparison tells each changed value of a process") {
    CHECK_THAT(
        reportOf([](Sample& now) { now.instruction = 0x1002; }),
        Equals("Differs: process 7 (sample): thread_info.gpregs.ip: 4096 (0x1000) in the image, 4098 (0x1002) in "
               "the tree\n"));
    CHECK_THAT(
        reportOf([](Sample& now) { now.uid = 0; }),
        Equals("Differs: process 7 (sample): thread_core.creds.uid: 1000 (0x3e8) in the image, 0 in the tree\n"));
    CHECK_THAT(reportOf([](Sample& now) { now.protection = PROT_READ; }),
               Equals("Differs: process 7 (sample): mapping 0x10000: prot: 3 in the image, 1 in the tree\n"));
    CHECK_THAT(
        reportOf([](Sample& now) { now.memory[kImagePageSize + 5] = std::byte{0x41}; }),
        Equals("Differs: process 7 (sample): memory 0x10000: 1 of the bytes in 1 pages from 0x11000 on, first the "
               "one at 0x11005: 0x00 in the image, 0x41 in the tree\n"));
}

TEST_CASE("a comparison refuses images with fields that this criu doesn't know") {
    CHECK_THROWS_WITH(reportOf([](Sample& now) { now.hasUnknownField = true; }), Contains("isn't known to this criu"));
}

TEST_CASE("a comparison tells each changed value of a file") {
    const std::string position = reportOf([](Sample& now) { now.position = 5; });
    CHECK_THAT(position, Contains("process 7 (sample): fd 3: reg.pos: 3 in the image, 5 in the tree\n"));
    CHECK_THAT(position, Contains("process 7 (sample): fd 5: reg.pos: 3 in the image, 5 in the tree\n"));
    CHECK_THAT(reportOf([](Sample& now) { now.flags = 3; }),
               Contains("fd 3: reg.flags: 2 in the image, 3 in the tree\n"));
    CHECK_THAT(
        reportOf([](Sample& now) { now.piped = "pixed"; }),
        Equals("Differs: process 7 (sample): fd 4: pipes-data: content at byte 2: 0x70 in the image, 0x78 in the "
               "tree\n"));
    CHECK_THAT(reportOf([](Sample& now) { now.piped = "pipe"; }),
               Contains("fd 4: pipes-data: content at byte 4: 0x64 in the image, the end in the tree\n"));
}

TEST_CASE("a comparison tells objects that one side lacks") {
    CHECK_THAT(reportOf([](Sample& now) { now.hasFile = false; }),
               Equals("Differs: process 7 (sample): fd 3: present in the image, absent in the tree\n"
                      "Differs: files 2: present in the image, absent in the tree\n"));
    CHECK_THAT(reportOf([](Sample& now) { now.pids.push_back(8); }),
               Equals("Differs: process 8 (sample): absent in the image, present in the tree\n"));
    Sample two;
    two.pids.push_back(8);
    CHECK_THAT(reportOf([](Sample& now) { now.pids.pop_back(); }, two),
               Equals("Differs: process 8 (sample): present in the image, absent in the tree\n"));
}

TEST_CASE("an object that one side lacks is told once, and one that both lack isn't told") {
    Sample without;
    without.program = kNoId;
    CHECK_THAT(reportOf([](Sample&) {}, without), Equals(kNoDifference));
    CHECK_THAT(reportOf([](Sample& now) { now.program = kNoId; }),
               Equals("Differs: process 7 (sample): exe_file_id: file in the image, none in the tree\n"));
}

TEST_CASE("a comparison tells that descriptors no longer share an open file description") {
    Sample shared;
    shared.fileOfBoth = 1;
    CHECK_THAT(reportOf([](Sample& now) { now.fileOfBoth = 0; }, shared),
               Contains("fd 5: id: file 2 in the image, file 1004, which isn't the same one elsewhere in the tree\n"));
    CHECK_THAT(reportOf([](Sample& now) { now.fileOfBoth = 1; }),
               Contains("fd 5: id: file 4 in the image, file 1002, which isn't the same one elsewhere in the tree\n"));
}

TEST_CASE("a comparison tells changes of namespaces") {
    CHECK_THAT(reportOf([](Sample& now) { now.host = "other"; }),
               Contains("Differs: utsns: nodename: \"host\" in the image, \"other\" in the tree\n"));
    CHECK_THAT(reportOf([](Sample& now) { now.mountFlags = 3; }),
               Equals("Differs: mountpoints: mount /mnt: flags: 1 in the image, 3 in the tree\n"));
}

TEST_CASE("remaining times of timers may sink, and begin again at the interval") {
    CHECK_THAT(reportOf([](Sample& now) { now.remaining = 1; }), Equals(kNoDifference));
    CHECK_THAT(reportOf([](Sample& now) { now.remaining = 6; }),
               Contains("tc.timers.real.remaining time: 5.000000000 s in the image, 6.000000000 s in the tree\n"));
    CHECK_THAT(reportOf([](Sample& now) { now.remaining = 0; }), Contains("tc.timers.real.remaining time: "));
    Sample periodic;
    periodic.interval = 10;
    CHECK_THAT(reportOf([](Sample& now) { now.remaining = 9; }, periodic), Equals(kNoDifference));
    CHECK_THAT(reportOf([](Sample& now) { now.interval = 11; }, periodic), Contains("tc.timers.real.interval: "));
}

TEST_CASE("pending signals have an order only among equal numbers, and expired timers add signals") {
    Sample pending;
    pending.signals = {SIGUSR2, SIGUSR1};
    CHECK_THAT(reportOf([](Sample& now) { now.signals = {SIGUSR1, SIGUSR2}; }, pending), Equals(kNoDifference));
    CHECK_THAT(reportOf([](Sample& now) { now.signals = {SIGUSR2}; }, pending), Contains("tc.signals_s.signals["));
    CHECK_THAT(reportOf([](Sample& now) { now.signals.push_back(SIGHUP); }, pending),
               Contains("tc.signals_s.signals["));
    pending.signalCode = SI_KERNEL;
    CHECK_THAT(reportOf([](Sample& now) { now.signals.insert(now.signals.begin(), SIGALRM); }, pending),
               Equals(kNoDifference));
    CHECK_THAT(reportOf([](Sample& now) { now.signals.push_back(SIGHUP); }, pending),
               Contains("tc.signals_s.signals["));
    pending.signalCode = SI_TIMER;
    CHECK_THAT(reportOf([](Sample& now) { now.signals.push_back(SIGHUP); }, pending), Equals(kNoDifference));
}

TEST_CASE("only a whole tree may be stopped for a comparison") {
    constexpr std::uint32_t kStopped = 3;
    CHECK_THAT(reportOf([](Sample& now) { now.taskState = kStopped; }), Equals(kNoDifference));
    Sample stopped;
    stopped.taskState = kStopped;
    CHECK_THAT(reportOf([](Sample& now) { now.taskState = 1; }, stopped),
               Contains("tc.task_state: 3 in the image, 1 in the tree\n"));
}

TEST_CASE("a thread may have left its system call") {
    CHECK_THAT(reportOf([](Sample& now) { now.call = ~std::uint64_t{0}; }), Equals(kNoDifference));
    CHECK_THAT(reportOf([](Sample& now) { now.call = 36; }), Contains("thread_info.gpregs.orig_ax: 35 in the image"));
}

TEST_CASE("the kernel may change the processor in a registered rseq area") {
    Sample registered;
    registered.areaPointer = test::kStoredStart + 64;
    CHECK_THAT(reportOf([](Sample& now) { now.memory[64] = now.memory[68] = std::byte{3}; }, registered),
               Equals(kNoDifference));
    CHECK_THAT(reportOf([](Sample& now) { now.memory[72] = std::byte{3}; }, registered),
               Contains("first the one at 0x10048"));
}

TEST_CASE("equal neighbours may be one mapping") {
    CHECK_THAT(reportOf([](Sample& now) { now.divided = test::kStoredStart + kImagePageSize; }), Equals(kNoDifference));
}

TEST_CASE("a divided mapping of a file continues at its offset, and anonymous memory has none") {
    VmaEntry mapping = VMA_ENTRY__INIT;
    mapping.start = 0x10000;
    mapping.end = 0x14000;
    mapping.pgoff = 0x3000;
    VmaEntry* all[] = {&mapping};
    MmEntry memory = MM_ENTRY__INIT;
    memory.n_vmas = 1;
    memory.vmas = all;
    const auto secondOffset = [&](std::uint32_t status) {
        mapping.status = status;
        engine::MappingList list(memory);
        list.divide(0x11000);
        REQUIRE(list.mappings().size() == 2);
        CHECK(list.mappings()[1].start == 0x11000);
        return list.mappings()[1].pgoff;
    };
    CHECK(secondOffset(memory::VmaStatus::Regular | memory::VmaStatus::FilePrivate) == 0x4000);
    CHECK(secondOffset(memory::VmaStatus::Regular | memory::VmaStatus::AnonPrivate) == 0x3000);
}

TEST_CASE("each rule names fields that exist, and has a reason") {
    std::vector<std::string> wrong;
    for (const engine::FieldRule& rule : engine::fieldRules()) {
        if (rule.kind != engine::FieldRule::Kind::Id && rule.text.empty())
            wrong.emplace_back(rule.field);
        bool exists = rule.message.empty();
        const std::function<void(const ProtobufCMessageDescriptor&, int)> search =
            [&](const ProtobufCMessageDescriptor& type, int depth) {
                for (unsigned i = 0; i < type.n_fields && depth < 8; ++i) {
                    exists = exists || (type.name == rule.message && type.fields[i].name == rule.field);
                    if (type.fields[i].type == PROTOBUF_C_TYPE_MESSAGE && !exists)
                        search(*static_cast<const ProtobufCMessageDescriptor*>(type.fields[i].descriptor), depth + 1);
                }
            };
        for (const ImageInfo& info : imageCatalogue())
            if (info.record != nullptr && !exists)
                search(*info.record, 0);
        if (!exists)
            wrong.push_back(std::string(rule.message) + "." + std::string(rule.field));
    }
    CHECK(wrong == std::vector<std::string>());
}

TEST_CASE("packet filters are compared without comments, counters and criu's own table") {
    using engine::partsOfFilter;
    CHECK(partsOfFilter("# made today\n*filter\n:INPUT ACCEPT [1:2]\n") ==
          partsOfFilter("*filter\n:INPUT ACCEPT [3:4]\n"));
    CHECK(partsOfFilter("*filter\n:INPUT ACCEPT [1:2]\n") != partsOfFilter("*filter\n:INPUT DROP [1:2]\n"));
    CHECK(partsOfFilter("table inet criu-dump-1 {\n\tdrop\n}\ntable ip nat {\n}\n") ==
          partsOfFilter("table ip nat {\n}\n"));
}

TEST_CASE("a report is a JSON document") {
    Sample now;
    now.uid = 0;
    const Differences found = compareCheckpoints(SampleImages(Sample()).dir(), SampleImages(now).dir(), [] {});
    CHECK_THAT(found.json(), Contains("\"equal\": false") && Contains("\"process\": \"7 (sample)\"") &&
                                 Contains("\"field\": \"thread_core.creds.uid\"") &&
                                 Contains("\"image\": \"1000 (0x3e8)\"") && Contains("\"tree\": \"0\""));
}
