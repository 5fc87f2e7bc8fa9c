// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/file_plan.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "criu/base/error.hpp"

using Catch::Contains;
using criu::FileId;
using criu::TreePid;
using criu::model::Birth;
using criu::model::BirthFacts;
using criu::model::BirthPlan;
using criu::model::FileFacts;
using criu::model::FileOpening;
using criu::model::FilePlan;
using criu::model::FileStage;
using criu::model::FileUser;

namespace {

constexpr TreePid kPlanRoot{10};
constexpr TreePid kOuterSession{5};

/// Tree with its files, as in images.
struct Scene {
    std::vector<BirthFacts> births;
    std::vector<FileUser> processes;
    std::vector<FileFacts> files;

    [[nodiscard]] const FileUser& process(TreePid pid) const {
        return *std::find_if(processes.begin(), processes.end(), [&](const FileUser& at) { return at.pid == pid; });
    }
    [[nodiscard]] std::size_t fileOf(FileId id) const {
        for (std::size_t file = 0; file < files.size(); ++file)
            if (std::count(files[file].ids.begin(), files[file].ids.end(), id) != 0)
                return file;
        FAIL("no file " << id.value);
        return 0;
    }
    [[nodiscard]] std::vector<std::size_t> needsOf(std::size_t file) const {
        std::vector<std::size_t> needs;
        for (const FileId id : files[file].needs)
            if (const std::size_t needed = fileOf(id); needed != file)
                needs.push_back(needed);
        return needs;
    }
    [[nodiscard]] bool uses(TreePid pid, std::size_t file) const {
        const std::vector<FileId>& table = process(pid).files;
        return std::any_of(table.begin(), table.end(), [&](FileId id) { return fileOf(id) == file; });
    }
};

FileId id(unsigned number) {
    return FileId{number};
}

std::vector<FileId> ids(std::initializer_list<unsigned> numbers) {
    std::vector<FileId> all;
    for (const unsigned number : numbers)
        all.push_back(id(number));
    return all;
}

FileFacts file(std::initializer_list<unsigned> made, std::initializer_list<unsigned> needs = {}) {
    FileFacts facts;
    facts.ids = ids(made);
    facts.needs = ids(needs);
    return facts;
}

/// Simulation of a plan by the kernel's rule that a new process inherits the current descriptors of its creator. It
/// checks the requirements during the simulation.
class Play {
public:
    Play(const Scene& scene, const BirthPlan& births, const FilePlan& plan)
        : scene_(scene), births_(births), plan_(plan), opened_(scene.files.size()) {
        live(births.root().pid, {});
        for (const Birth& birth : births.all())
            open(birth.pid, FileStage::Late);
        for (std::size_t file = 0; file < scene.files.size(); ++file)
            check(file);
        for (const FileUser& process : scene.processes)
            for (const FileId id : process.files) {
                INFO("process " << process.pid.value << ", file " << id.value);
                const std::size_t file = scene.fileOf(id);
                REQUIRE((has_[process.pid].contains(id) || plan.of(file).stage == FileStage::Late));
            }
    }

private:
    void live(TreePid pid, const std::set<FileId>& inherited) {
        has_[pid] = inherited;
        open(pid, FileStage::BeforeChildren);
        const Birth& birth = births_.of(pid);
        for (const TreePid child : birth.beforeSession)
            live(child, has_[pid]);
        for (const std::size_t file : plan_.controlledBy(pid))
            if (birth.leadsSession && pid == scene_.files[file].session)
                REQUIRE(std::any_of(scene_.files[file].ids.begin(), scene_.files[file].ids.end(),
                                    [&](FileId id) { return has_[pid].contains(id); }));
        for (const TreePid child : birth.afterSession)
            live(child, has_[pid]);
        open(pid, FileStage::AfterChildren);
    }

    void open(TreePid pid, FileStage stage) {
        for (const std::size_t file : plan_.openedBy(pid, stage)) {
            INFO("process " << pid.value << " opens " << scene_.files[file].ids.front().value);
            REQUIRE(plan_.of(file).opener == pid);
            REQUIRE(plan_.of(file).stage == stage);
            for (const FileId id : scene_.files[file].needs)
                if (scene_.fileOf(id) != file)
                    REQUIRE(has_[pid].contains(id));
            has_[pid].insert(scene_.files[file].ids.begin(), scene_.files[file].ids.end());
            REQUIRE(++opened_[file] == 1);
            if (stage != FileStage::BeforeChildren)
                REQUIRE(scene_.process(pid).hasTable);
            if (stage == FileStage::AfterChildren)
                REQUIRE((scene_.uses(pid, file) || isNeededBy(pid, file)));
        }
    }

    /// Returns whether another file that the process opens needs this one.
    bool isNeededBy(TreePid pid, std::size_t file) {
        for (std::size_t other = 0; other < scene_.files.size(); ++other) {
            const std::vector<std::size_t> needs = scene_.needsOf(other);
            if (plan_.of(other).opener == pid && std::count(needs.begin(), needs.end(), file) != 0)
                return true;
        }
        return false;
    }

    [[nodiscard]] bool isAbove(TreePid creator, TreePid pid) const {
        for (; pid; pid = births_.of(pid).creator)
            if (pid == creator)
                return true;
        return false;
    }

    void check(std::size_t file) {
        INFO("file " << scene_.files[file].ids.front().value);
        const FileFacts& facts = scene_.files[file];
        const FileOpening& opening = plan_.of(file);
        REQUIRE(opened_[file] == 1);
        const std::vector<std::size_t> needs = scene_.needsOf(file);
        const bool late = facts.late || std::any_of(needs.begin(), needs.end(), [&](std::size_t needed) {
                              return plan_.of(needed).stage == FileStage::Late;
                          });
        REQUIRE((opening.stage == FileStage::Late) == late);
        if (late && facts.opensOnlyInSession)
            REQUIRE(scene_.process(opening.opener).sid == facts.session);
        REQUIRE((scene_.uses(opening.completer, file) ||
                 std::any_of(facts.ids.begin(), facts.ids.end(),
                             [&](FileId id) { return has_[opening.completer].contains(id); })));
        if (!late)
            checkNearest(file);
    }

    /// Checks that no descendant could open the file instead, and that no process inherits files that only its opener
    /// needs.
    void checkNearest(std::size_t file) {
        const FileOpening& opening = plan_.of(file);
        std::set<TreePid> wanted;
        bool before = scene_.files[file].early;
        for (const FileUser& process : scene_.processes)
            if (process.hasTable && scene_.uses(process.pid, file))
                wanted.insert(process.pid);
        for (std::size_t other = 0; other < scene_.files.size(); ++other) {
            const std::vector<std::size_t> needs = scene_.needsOf(other);
            if (std::count(needs.begin(), needs.end(), file) == 0)
                continue;
            wanted.insert(plan_.of(other).opener);
            before = before || plan_.of(other).stage == FileStage::BeforeChildren;
        }
        if (opening.controller && opening.controller == scene_.files[file].session) {
            wanted.insert(opening.controller);
            before = true;
        }
        for (const TreePid pid : wanted)
            REQUIRE(isAbove(opening.opener, pid));
        for (const Birth& birth : births_.all())
            if (birth.creator == opening.opener)
                REQUIRE_FALSE(
                    std::all_of(wanted.begin(), wanted.end(), [&](TreePid pid) { return isAbove(birth.pid, pid); }));
        REQUIRE((opening.stage == FileStage::BeforeChildren) == (before || wanted.size() > 1));
    }

    const Scene& scene_;
    const BirthPlan& births_;
    const FilePlan& plan_;
    std::map<TreePid, std::set<FileId>> has_;
    std::vector<int> opened_;
};

/// Random trees with sessions, shared descriptor tables and files of many kinds.
class Chance {
public:
    explicit Chance(unsigned seed) : random_(seed) {}

    Scene make(unsigned processes, unsigned files) {
        Scene scene;
        for (unsigned i = 0; i < processes; ++i)
            addProcess(scene);
        for (unsigned i = 0; i < files; ++i)
            addFile(scene);
        std::shuffle(scene.files.begin(), scene.files.end(), random_);
        return scene;
    }

    unsigned number(unsigned below) { return std::uniform_int_distribution<unsigned>(0, below - 1)(random_); }
    bool once(unsigned in) { return number(in) == 0; }

private:
    void addProcess(Scene& scene) {
        const TreePid pid(kPlanRoot.value + static_cast<pid_t>(scene.births.size()));
        if (scene.births.empty()) {
            rootSession_ = once(3) ? kOuterSession : pid;
            scene.births.push_back({pid, TreePid(), pid, rootSession_});
            scene.processes.push_back({pid, rootSession_, true, {}});
            return;
        }
        const unsigned count = static_cast<unsigned>(scene.births.size());
        const BirthFacts parent = scene.births[once(2) ? count - 1 : number(count)];
        TreePid sid = parent.sid;
        if (once(4))
            sid = pid;
        else if (parent.sid == parent.pid && parent.ppid && once(3))  // created before its parent's setsid
            sid = scene.births[static_cast<std::size_t>(parent.ppid.value - kPlanRoot.value)].sid;
        scene.births.push_back({pid, parent.pid, pid, sid});
        scene.processes.push_back({pid, sid, !once(6), {}});
    }

    FileUser& anyWithTable(Scene& scene) {
        for (;;)
            if (FileUser& process = scene.processes[number(static_cast<unsigned>(scene.processes.size()))];
                process.hasTable)
                return process;
    }

    /// Adds a file. It needs only existing files, so that needs have no cycles.
    void addFile(Scene& scene) {
        FileFacts facts;
        for (unsigned i = 0; i <= number(3); ++i)
            facts.ids.push_back(id(++last_));
        facts.late = once(8);
        facts.early = !facts.late && once(8);
        if (once(4)) {
            facts.session = once(4) ? kOuterSession : anyWithTable(scene).sid;
            facts.opensOnlyInSession = facts.late && *facts.session != kOuterSession;
        }
        for (const FileFacts& other : scene.files)
            if (!facts.opensOnlyInSession && !other.opensOnlyInSession && once(5))
                facts.needs.push_back(other.ids[number(static_cast<unsigned>(other.ids.size()))]);
        if (once(3))
            facts.needs.push_back(facts.ids.front());  // a socket in its own queue
        for (unsigned i = 0; i < 1 + number(3); ++i)
            anyWithTable(scene).files.push_back(facts.ids[number(static_cast<unsigned>(facts.ids.size()))]);
        if (!scene.files.empty() && once(3))
            dropUsers(scene);
        scene.files.push_back(std::move(facts));
    }

    /// Makes a file that others need exist only in flight.
    void dropUsers(Scene& scene) {
        const FileFacts& victim = scene.files[number(static_cast<unsigned>(scene.files.size()))];
        for (const FileFacts& other : scene.files)
            if (&other != &victim && std::any_of(other.needs.begin(), other.needs.end(), [&](FileId need) {
                    return std::count(victim.ids.begin(), victim.ids.end(), need) != 0;
                })) {
                for (FileUser& process : scene.processes)
                    std::erase_if(process.files,
                                  [&](FileId at) { return std::count(victim.ids.begin(), victim.ids.end(), at) != 0; });
                return;
            }
    }

    std::mt19937 random_;
    unsigned last_ = 0;
    TreePid rootSession_ = kPlanRoot;
};

FilePlan planOf(const Scene& scene) {
    const BirthPlan births = BirthPlan::make(scene.births, kOuterSession);
    FilePlan plan = FilePlan::make(scene.files, scene.processes, births);
    const Play play(scene, births, plan);
    return plan;
}

std::string planErrorOf(const Scene& scene) {
    try {
        (void)planOf(scene);
    } catch (const criu::Error& error) {
        return error.what();
    }
    return {};
}

/// Returns process 10 with the children 11 and 12; 11 has the child 13.
Scene family() {
    Scene scene;
    const auto add = [&](pid_t pid, pid_t parent, pid_t sid) {
        scene.births.push_back({TreePid(pid), TreePid(parent), TreePid(sid), TreePid(sid)});
        scene.processes.push_back({TreePid(pid), TreePid(sid), true, {}});
    };
    add(10, 0, 10);
    add(11, 10, 10);
    add(13, 11, 10);
    add(12, 10, 12);
    return scene;
}

std::vector<FileId>& table(Scene& scene, pid_t number) {
    return std::find_if(scene.processes.begin(), scene.processes.end(),
                        [&](const FileUser& at) { return at.pid == TreePid(number); })
        ->files;
}

}  // namespace

TEST_CASE("a file is opened by the nearest common creator of its users") {
    Scene scene = family();
    scene.files = {file({1}), file({2}), file({3, 4})};
    table(scene, 11) = ids({1, 2});
    table(scene, 13) = ids({2, 3});
    table(scene, 12) = ids({4});
    const FilePlan plan = planOf(scene);
    CHECK(plan.of(0).opener == TreePid(11));
    CHECK(plan.of(0).stage == FileStage::AfterChildren);
    CHECK(plan.of(1).opener == TreePid(11));
    CHECK(plan.of(1).stage == FileStage::BeforeChildren);
    CHECK(plan.of(2).opener == TreePid(10));
    CHECK(plan.of(2).completer == TreePid(13));
}

TEST_CASE("a file in flight is opened where the socket is, before it") {
    Scene scene = family();
    scene.files = {file({1}, {2}), file({2}, {3}), file({3})};
    table(scene, 13) = ids({1});
    const FilePlan plan = planOf(scene);
    const auto opened = plan.openedBy(TreePid(13), FileStage::AfterChildren);
    CHECK(std::vector<std::size_t>(opened.begin(), opened.end()) == std::vector<std::size_t>{2, 1, 0});
    CHECK(plan.of(2).completer == TreePid(13));
}

TEST_CASE("a file that is a descriptor of one process and in flight in another is inherited by both") {
    Scene scene = family();
    scene.files = {file({1}, {2}), file({2})};
    table(scene, 13) = ids({1});
    table(scene, 12) = ids({2});
    const FilePlan plan = planOf(scene);
    CHECK(plan.of(1).opener == TreePid(10));
    CHECK(plan.of(1).stage == FileStage::BeforeChildren);
    CHECK(plan.of(0).stage == FileStage::AfterChildren);
}

TEST_CASE("what needs a late file is late, in the same process, and inherits what else it needs") {
    Scene scene = family();
    scene.files = {file({1}, {2, 3}), file({2}), file({3})};
    scene.files[1].late = true;
    table(scene, 13) = ids({1});
    table(scene, 12) = ids({3});
    const FilePlan plan = planOf(scene);
    CHECK(plan.of(0).stage == FileStage::Late);
    CHECK(plan.of(0).opener == TreePid(13));
    CHECK(plan.of(1).opener == TreePid(13));
    CHECK(plan.of(2).opener == TreePid(10));
}

TEST_CASE("two that need one late file are opened by one process") {
    Scene scene = family();
    scene.files = {file({1}, {3}), file({2}, {3}), file({3})};
    scene.files[2].late = true;
    table(scene, 13) = ids({1});
    table(scene, 12) = ids({2});
    const FilePlan plan = planOf(scene);
    CHECK(plan.of(0).opener == plan.of(1).opener);
    CHECK(plan.of(2).opener == plan.of(1).opener);
}

TEST_CASE("a terminal is there when its session begins") {
    Scene scene = family();
    scene.files = {file({1})};
    scene.files[0].session = TreePid(12);
    table(scene, 13) = ids({1});
    const FilePlan plan = planOf(scene);
    CHECK(plan.of(0).opener == TreePid(10));
    CHECK(plan.of(0).controller == TreePid(12));
    CHECK(plan.controlledBy(TreePid(12)).size() == 1);
}

TEST_CASE("the terminal of criu's own session is controlled by the root") {
    Scene scene = family();
    for (BirthFacts& birth : scene.births)
        birth.sid = birth.pid == TreePid(12) ? TreePid(12) : kOuterSession;
    for (FileUser& process : scene.processes)
        process.sid = process.pid == TreePid(12) ? TreePid(12) : kOuterSession;
    scene.files = {file({1})};
    scene.files[0].session = kOuterSession;
    table(scene, 13) = ids({1});
    const FilePlan plan = planOf(scene);
    CHECK(plan.of(0).controller == TreePid(10));
    CHECK(plan.of(0).opener == TreePid(13));
}

TEST_CASE("/dev/tty is opened in its session, if need be by one that doesn't use it") {
    Scene scene = family();
    scene.files = {file({1})};
    scene.files[0].late = true;
    scene.files[0].session = TreePid(12);
    scene.files[0].opensOnlyInSession = true;
    table(scene, 13) = ids({1});
    CHECK(planOf(scene).of(0).opener == TreePid(12));
    scene.processes.back().hasTable = false;
    CHECK_THAT(planErrorOf(scene), Contains("can be opened in session 12 only"));
}

TEST_CASE("files that need each other in a circle are an error") {
    Scene scene = family();
    scene.files = {file({1}, {2}), file({2}, {3}), file({3}, {1})};
    table(scene, 13) = ids({1});
    CHECK_THAT(planErrorOf(scene), Contains("need each other"));
}

TEST_CASE("a need without a file, and an unused file, are errors") {
    Scene scene = family();
    scene.files = {file({1}, {7})};
    table(scene, 13) = ids({1});
    CHECK_THAT(planErrorOf(scene), Contains("file 7 is needed"));
    scene.files = {file({1}), file({2})};
    CHECK_THAT(planErrorOf(scene), Contains("file 2 is used by no process"));
}

TEST_CASE("a long chain of needs takes no stack") {
    constexpr unsigned kLong = 200'000;
    Scene scene = family();
    for (unsigned at = 1; at <= kLong; ++at)
        scene.files.push_back(at < kLong ? file({at}, {at + 1}) : file({at}));
    table(scene, 13) = ids({1});
    const BirthPlan births = BirthPlan::make(scene.births, kOuterSession);
    const FilePlan plan = FilePlan::make(scene.files, scene.processes, births);
    CHECK(plan.openedBy(TreePid(13), FileStage::AfterChildren).front() == kLong - 1);
}

TEST_CASE("plans of all sorts of trees and files can be carried out") {
    for (unsigned seed = 0; seed < 400; ++seed) {
        INFO("seed " << seed);
        (void)planOf(Chance(seed).make(2 + seed % 23, 1 + seed % 31));
    }
}

TEST_CASE("circles among all sorts of files are errors") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        INFO("seed " << seed);
        Chance chance(seed);
        Scene scene = chance.make(8, 20);
        // Closes a path along needs to a cycle.
        for (FileFacts& facts : scene.files)
            facts.opensOnlyInSession = false;
        std::size_t at = chance.number(20);
        const std::size_t first = at;
        for (std::size_t step = 0; step < 3; ++step) {
            const std::size_t next = step == 2 ? first : (at + 1 + chance.number(18)) % 20;
            if (next == at)
                continue;
            scene.files[at].needs.push_back(scene.files[next].ids.front());
            at = next;
        }
        if (at == first)
            REQUIRE_THAT(planErrorOf(scene), Contains("need each other"));
    }
}
