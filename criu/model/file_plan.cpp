// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/file_plan.hpp"

#include <algorithm>
#include <utility>

#include <boost/pending/disjoint_sets.hpp>

#include "criu/base/error.hpp"

namespace criu::model {
namespace {

/// Finder of the nearest common creator of two processes.
class Creators {
public:
    explicit Creators(const BirthPlan& births) : births_(births) {}

    TreePid common(TreePid one, TreePid other) {
        while (one != other) {
            if (depthOf(one) < depthOf(other))
                std::swap(one, other);
            one = births_.of(one).creator;
        }
        return one;
    }

private:
    std::size_t depthOf(TreePid pid) {
        std::vector<TreePid> path;
        while (pid && !depths_.contains(pid)) {
            path.push_back(pid);
            pid = births_.of(pid).creator;
        }
        std::size_t depth = !pid ? 0 : depths_.at(pid);
        for (auto at = path.rbegin(); at != path.rend(); ++at)
            depths_[*at] = ++depth;
        return depth;
    }

    const BirthPlan& births_;
    std::unordered_map<TreePid, std::size_t> depths_;
};

class FilePlanner {
public:
    FilePlanner(std::span<const FileFacts> files, std::span<const FileUser> processes, const BirthPlan& births)
        : files_(files),
          processes_(processes),
          births_(births),
          creators_(births),
          openings_(files.size()),
          needs_(files.size()),
          neededBy_(files.size()),
          users_(files.size()),
          late_(files.size()) {}

    std::vector<FileOpening> run() {
        noteUsers();
        noteNeeds();
        putInOrder();
        for (const std::size_t file : order_)
            late_[file] = files_[file].late || std::any_of(needs_[file].begin(), needs_[file].end(),
                                                           [this](std::size_t needed) { return late_[needed]; });
        placeLate();
        // Goes backwards, because a file must be placed before the files that it needs.
        for (auto file = order_.rbegin(); file != order_.rend(); ++file)
            if (!late_[*file])
                place(*file);
        for (auto file = order_.rbegin(); file != order_.rend(); ++file)
            chooseCompleter(*file);
        return std::move(openings_);
    }

    /// Returns the indices of all files. Each file comes after the files that it needs; files that don't need each
    /// other keep the given order.
    [[nodiscard]] std::span<const std::size_t> order() const { return order_; }

private:
    [[nodiscard]] FileId idOf(std::size_t file) const { return files_[file].ids.front(); }

    void noteUsers() {
        for (std::size_t file = 0; file < files_.size(); ++file)
            for (const FileId id : files_[file].ids)
                index_.emplace(id, file);
        for (const FileUser& process : processes_)
            if (process.hasTable)
                for (const FileId id : process.files)
                    if (auto& users = users_[find(id)]; users.empty() || users.back() != process.pid)
                        users.push_back(process.pid);
    }

    void noteNeeds() {
        for (std::size_t file = 0; file < files_.size(); ++file)
            for (const FileId id : files_[file].needs)
                if (const std::size_t needed = find(id); needed != file) {
                    needs_[file].push_back(needed);
                    neededBy_[needed].push_back(file);
                }
        for (std::size_t file = 0; file < files_.size(); ++file)
            if (users_[file].empty() && neededBy_[file].empty())
                fail("file {} is used by no process", idOf(file));
    }

    [[nodiscard]] std::size_t find(FileId id) const {
        const auto found = index_.find(id);
        if (found == index_.end())
            fail("file {} is needed, but nothing makes it", id);
        return found->second;
    }

    void putInOrder() {
        enum class Mark : std::uint8_t { New, Begun, Done };
        struct Step {
            std::size_t file = 0;
            std::size_t next = 0;
        };
        std::vector<Mark> marks(files_.size(), Mark::New);
        std::vector<Step> path;
        const auto begin = [&](std::size_t file) {
            marks[file] = Mark::Begun;
            path.push_back({file, 0});
        };
        for (std::size_t file = 0; file < files_.size(); ++file) {
            if (marks[file] == Mark::New)
                begin(file);
            while (!path.empty()) {
                Step& step = path.back();
                if (step.next == needs_[step.file].size()) {
                    marks[step.file] = Mark::Done;
                    order_.push_back(step.file);
                    path.pop_back();
                    continue;
                }
                const std::size_t needed = needs_[step.file][step.next++];
                if (marks[needed] == Mark::Begun)
                    fail("files {} and {} need each other: neither can be opened first", idOf(needed), idOf(step.file));
                if (marks[needed] == Mark::New)
                    begin(needed);
            }
        }
    }

    void placeLate() {
        // Sets of late files that need each other. All files of a set must have the same opener.
        boost::disjoint_sets_with_storage<> sets(files_.size());
        std::unordered_map<std::size_t, TreePid> sessions;  ///< session in which the opener of a set must be
        std::unordered_map<std::size_t, TreePid> openers;
        for (const std::size_t file : order_)
            for (const std::size_t needed : needs_[file])
                if (late_[needed])
                    sets.union_set(file, needed);
        for (const std::size_t file : order_)
            if (late_[file] && files_[file].opensOnlyInSession && files_[file].session) {
                const TreePid session = *files_[file].session;
                if (sessions.try_emplace(sets.find_set(file), session).first->second != session)
                    fail("file {} can be opened in session {} only, and a file that needs it in another", idOf(file),
                         session);
            }
        const auto suits = [&](const FileUser& process, std::size_t set) {
            const auto session = sessions.find(set);
            return process.hasTable && (session == sessions.end() || session->second == process.sid);
        };
        for (const FileUser& process : processes_)
            for (const FileId id : process.files)
                if (const std::size_t file = find(id); late_[file] && suits(process, sets.find_set(file)))
                    openers.try_emplace(sets.find_set(file), process.pid);
        for (const std::size_t file : order_) {
            if (!late_[file])
                continue;
            const std::size_t set = sets.find_set(file);
            if (!openers.contains(set))
                // No user can open the file, but another process of the session can.
                for (const FileUser& process : processes_)
                    if (suits(process, set) && (!openers.contains(set) || process.pid == process.sid))
                        openers[set] = process.pid;
            if (!openers.contains(set))
                fail("file {} can be opened in session {} only, and no process with descriptors is in that", idOf(file),
                     sessions.at(set));
            openings_[file].opener = openers.at(set);
            openings_[file].stage = FileStage::Late;
        }
    }

    void place(std::size_t file) {
        FileOpening& opening = openings_[file];
        bool inherited = files_[file].early;
        const auto add = [&](TreePid pid) {
            inherited = inherited || (opening.opener && opening.opener != pid);
            opening.opener = opening.opener ? creators_.common(opening.opener, pid) : pid;
        };
        for (const TreePid user : users_[file])
            add(user);
        for (const std::size_t user : neededBy_[file]) {
            add(openings_[user].opener);
            inherited = inherited || openings_[user].stage == FileStage::BeforeChildren;
        }
        opening.controller = controllerOf(file);
        if (const auto session = files_[file].session; session && opening.controller == *session) {
            add(*session);
            inherited = true;  // the leader must have the terminal when its session begins, so opens it before
        }
        opening.stage = inherited ? FileStage::BeforeChildren : FileStage::AfterChildren;
    }

    /// Returns the leader of the terminal's session. If the leader isn't in the tree, returns the root, because the
    /// root joins criu's session.
    [[nodiscard]] TreePid controllerOf(std::size_t file) const {
        const std::optional<TreePid> session = files_[file].session;
        if (!session)
            return TreePid();
        if (std::any_of(processes_.begin(), processes_.end(),
                        [&](const FileUser& process) { return process.pid == *session; }))
            return *session;
        return !births_.root().leadsSession && processes_.front().sid == *session ? births_.root().pid : TreePid();
    }

    void chooseCompleter(std::size_t file) {
        FileOpening& opening = openings_[file];
        if (!users_[file].empty()) {
            opening.completer = users_[file].front();
            return;
        }
        // The file is only in flight, so that no process has a descriptor of it. The completer is the process that
        // needs the file, because this process has the file open.
        const FileOpening& user = openings_[neededBy_[file].front()];
        opening.completer = user.stage == FileStage::Late ? user.opener : user.completer;
    }

    std::span<const FileFacts> files_;
    std::span<const FileUser> processes_;
    const BirthPlan& births_;
    Creators creators_;
    std::vector<FileOpening> openings_;
    std::unordered_map<FileId, std::size_t> index_;
    std::vector<std::vector<std::size_t>> needs_;
    std::vector<std::vector<std::size_t>> neededBy_;
    std::vector<std::vector<TreePid>> users_;
    std::vector<bool> late_;
    std::vector<std::size_t> order_;
};

}  // namespace

FilePlan FilePlan::make(std::span<const FileFacts> files, std::span<const FileUser> processes,
                        const BirthPlan& births) {
    FilePlanner planner(files, processes, births);
    FilePlan plan;
    plan.openings_ = planner.run();
    for (const std::size_t file : planner.order()) {
        const FileOpening& opening = plan.openings_[file];
        plan.work_[opening.opener].opens[static_cast<std::size_t>(opening.stage)].push_back(file);
    }
    for (std::size_t file = 0; file < files.size(); ++file) {
        const FileOpening& opening = plan.openings_[file];
        plan.work_[opening.completer].completes.push_back(file);
        if (opening.controller)
            plan.work_[opening.controller].controls.push_back(file);
    }
    return plan;
}

const FilePlan::Work* FilePlan::workOf(TreePid pid) const {
    const auto found = work_.find(pid);
    return found == work_.end() ? nullptr : &found->second;
}

std::span<const std::size_t> FilePlan::openedBy(TreePid pid, FileStage stage) const {
    const Work* const work = workOf(pid);
    return work != nullptr ? std::span<const std::size_t>(work->opens[static_cast<std::size_t>(stage)])
                           : std::span<const std::size_t>();
}

std::span<const std::size_t> FilePlan::completedBy(TreePid pid) const {
    const Work* const work = workOf(pid);
    return work != nullptr ? std::span<const std::size_t>(work->completes) : std::span<const std::size_t>();
}

std::span<const std::size_t> FilePlan::controlledBy(TreePid pid) const {
    const Work* const work = workOf(pid);
    return work != nullptr ? std::span<const std::size_t>(work->controls) : std::span<const std::size_t>();
}

}  // namespace criu::model
