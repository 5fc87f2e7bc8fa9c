// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/cgroup_restore.hpp"
#include "criu/cgroup/set_of.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/cgroup/cgroup_dump.hpp"
#include "criu/cgroup/hierarchies.hpp"
#include "criu/cgroup/properties.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/text_rules.hpp"
#include "criu/kernel/attributes.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/names/created_name.hpp"
#include "criu/model/options.hpp"
#include "images/cgroup.hpp"

namespace criu::cgroup {
namespace {

using model::CgroupMode;

constexpr const char* kProcesses = "cgroup.procs";
constexpr mode_t kGroupMode = 0755;

std::string withSlash(const std::string& path) {
    return path.starts_with('/') ? path : '/' + path;
}

/// Returns `path` with `root` in place of its beginning `old`; nullopt if `path` isn't `old` or below it.
std::optional<std::string> moved(const std::string& path, const std::string& old, const std::string& root) {
    const std::string base = root == "/" ? "" : root;
    const std::string from = old == "/" ? "" : old;
    if (path != old && !path.starts_with(from + '/'))
        return std::nullopt;
    const std::string result = base + (path == "/" ? "" : path.substr(from.size()));
    return result.empty() ? "/" : result;
}

/// Throws Error if a path of the images leads out of its hierarchy, or isn't in its shortest form.
void checkPath(std::string_view path) {
    if (!isGroupPath(path))
        fail("{}: \"{}\" is no path of a cgroup", imageName(ImageKind::Cgroup), path);
}

void checkBelow(std::string_view path) {
    if (!isGroupBelow(path))
        fail("{}: \"{}\" is no path of a cgroup", imageName(ImageKind::Cgroup), path);
}

/// Returns the names of the controllers of the running kernel.
std::set<std::string, std::less<>> controllersHere() {
    std::set<std::string, std::less<>> names;
    std::string table;
    try {
        table = kernel::ProcDir().readFile("cgroups");
    } catch (const Error& error) {
        if (error.code() != ENOENT)
            throw;  // ENOENT: the kernel has no cgroups
    }
    for (const std::string& line : split(table, '\n'))
        if (!line.starts_with('#'))
            names.insert(line.substr(0, line.find('\t')));
    return names;
}

/// Throws Error for names that aren't controllers, because mount(2) of a hierarchy accepts any name as an option.
void checkControllers(std::string_view names, const std::set<std::string, std::less<>>& here) {
    const std::vector<std::string> all = split(names, ',');
    const bool known = std::all_of(all.begin(), all.end(), [&](const std::string& name) {
        return isController(name, [&](std::string_view controller) { return here.contains(controller); });
    });
    if (!known || joined(all) != names)
        fail("{}: \"{}\" is no controller that this kernel has", imageName(ImageKind::Cgroup), names);
}

bool countsTasks(const std::string& controllers) {
    return controllers.empty() || (',' + controllers + ',').find(",pids,") != std::string::npos;
}

struct LackOfTasks {
    std::uint64_t current;
    std::uint64_t most;
};

/// Returns nullopt if a cgroup allows `count` more tasks. Waits a while if it doesn't, because a dumped tree counts
/// until its processes are reaped.
std::optional<LackOfTasks> findLackOfTasks(int group, std::uint64_t count) {
    constexpr int kTries = 200;
    constexpr useconds_t kPause = 10'000;
    for (int tries = 1;; ++tries) {
        const auto most = readProperty(group, "pids.max");
        const auto current = readProperty(group, "pids.current");
        if (!most || !current || most->value == "max")
            return std::nullopt;
        const LackOfTasks found{std::stoull(current->value), std::stoull(most->value)};
        if (found.current + count <= found.most)
            return std::nullopt;
        if (tries == kTries)
            return found;
        ::usleep(kPause);
    }
}

void setOwner(int fd, const CgroupPerms* permissions, std::string_view what) {
    if (permissions == nullptr)
        return;
    sys(::fchown(fd, permissions->uid, permissions->gid), "give {} to {}:{}", what, permissions->uid, permissions->gid);
    sys(::fchmod(fd, permissions->mode & 07777), "set mode {:#o} of {}", permissions->mode & 07777, what);
}

void setOwner(int group, const CgroupPropEntry& property) {
    const UniqueFd file(::openat(group, property.name, O_PATH | O_CLOEXEC));
    if (!file || property.perms == nullptr)
        return;
    const ErrorContext context([&] { return property.name; });
    changeOwner(file.get(), property.perms->uid, property.perms->gid);
    changeMode(file.get(), static_cast<mode_t>(property.perms->mode));
}

/// Sets properties that criu sets when all processes exist.
void setLate(int group, std::span<CgroupPropEntry* const> properties, bool unified) {
    for (const CgroupPropEntry* property : properties) {
        if (isFreezer(property->name) || (!unified && isEarly(property->name)))
            continue;
        setProperty(group, property->name, property->value);
        setOwner(group, *property);
    }
}

bool isFrozen(const CgroupPropEntry* property) {
    return isFreezer(property->name) && property->value != runningValue(property->name);
}

}  // namespace

/// Cgroup that criu has created.
struct CgroupRestore::Made {
    std::string controllers;
    std::string path;
    Inode inode;
};

CgroupRestore::CgroupRestore(const model::Options& options, Log& log, const ImageDir& images, std::uint32_t ownSet)
    : options_(options),
      log_(log),
      ownSet_(ownSet),
      hierarchies_(std::make_unique<Hierarchies>(options.cgroupYard)),
      thawed_(log) {
    if (options.cgroupMode == CgroupMode::Ignore)
        return;
    auto reader = images.openRead(ImageKind::Cgroup);
    if (!reader)
        return;
    image_ = reader->only<CgroupEntry>();
    const CgroupEntry& entry = **image_;
    kernel::ProcBuffer buffer;
    std::vector<Member>& own = sets_[ownSet_];
    for (const kernel::CgroupLine& line : kernel::readCgroups(kernel::ProcDir().self(), buffer))
        own.push_back({joined(line.controllers), line.path});
    checkNames(entry);
    collectSets(entry);
    collectGroups(entry);
}

void CgroupRestore::commit() noexcept {
    made_.clear();
}

CgroupRestore::~CgroupRestore() {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
        try {
            if (const int code = removeGroup(hierarchies_->root(made->controllers), made->path, made->inode); code != 0)
                log_.warn("{} is left: {}", label(made->controllers, made->path), std::strerror(code));
        } catch (const Error& error) {
            log_.warn("{} is left: {}", label(made->controllers, made->path), error.what());
        }
    }
}

std::optional<std::string> CgroupRestore::newRoot(const std::string& controllers) const {
    std::optional<std::string> root;
    for (const model::CgroupRoot& given : options_.cgroupRoots)
        if (given.controller.empty())
            root = withSlash(given.path);
    const std::string all = ',' + controllers + ',';
    std::optional<std::string> own;
    for (const model::CgroupRoot& given : options_.cgroupRoots) {
        if (given.controller.empty() ||
            (given.controller != controllers && all.find(',' + given.controller + ',') == std::string::npos))
            continue;
        if (own && *own != withSlash(given.path))
            fail("--cgroup-root gives {} and {} for {}, which are one hierarchy", *own, given.path, controllers);
        own = withSlash(given.path);
    }
    return own ? own : root;
}

/// Checks all names of the image before criu uses any of them.
void CgroupRestore::checkNames(const CgroupEntry& entry) const {
    const auto here = controllersHere();
    const PropertyTable properties = readProperties(options_);
    for (const CgSetEntry* const set : list(entry.sets, entry.n_sets))
        for (const CgMemberEntry* const member : list(set->ctls, set->n_ctls)) {
            checkControllers(member->name, here);
            checkPath(member->path);
        }
    std::vector<const CgroupDirEntry*> groups;
    for (const CgControllerEntry* const controller : list(entry.controllers, entry.n_controllers)) {
        for (const char* const name : list(controller->cnames, controller->n_cnames)) {
            checkControllers(name, here);
            if (std::string_view(name).find(',') != std::string_view::npos)
                fail("{}: \"{}\" is no controller but several", imageName(ImageKind::Cgroup), name);
        }
        for (const CgroupDirEntry* const head : list(controller->dirs, controller->n_dirs)) {
            checkPath(head->dir_name);
            groups.push_back(head);
        }
    }
    while (!groups.empty()) {
        const CgroupDirEntry& group = *groups.back();
        groups.pop_back();
        for (const CgroupDirEntry* const child : list(group.children, group.n_children)) {
            checkBelow(child->dir_name);
            groups.push_back(child);
        }
        const auto checkProperties = [&](std::span<CgroupPropEntry* const> all) {
            for (const CgroupPropEntry* const property : all)
                if (!properties.has(property->name)) {
                    Error error(0, fmt::format("{}: \"{}\" isn't one of the properties of cgroups that are restored",
                                               imageName(ImageKind::Cgroup), property->name));
                    error.addHint("restore with the --cgroup-props of the dump");
                    throw error;
                }
        };
        checkProperties(list(group.properties, group.n_properties));
        checkProperties(list(group.more_properties, group.n_more_properties));
    }
}

void CgroupRestore::collectSets(const CgroupEntry& entry) {
    for (const CgSetEntry* set : list(entry.sets, entry.n_sets)) {
        std::vector<Member>& members = sets_[set->id];
        if (!members.empty())
            fail("{}: set {} is there twice", imageName(ImageKind::Cgroup), set->id);
        for (const CgMemberEntry* member : list(set->ctls, set->n_ctls)) {
            if (member->has_cgns_prefix != 0 && member->cgns_prefix > std::strlen(member->path))
                fail("{}: set {} has a prefix of {} bytes in {}", imageName(ImageKind::Cgroup), set->id,
                     member->cgns_prefix, member->path);
            members.push_back(
                {member->name, member->path, false, member->has_cgns_prefix != 0 ? member->cgns_prefix : 0});
        }
    }
}

void CgroupRestore::collectGroups(const CgroupEntry& entry) {
    for (const CgControllerEntry* controller : list(entry.controllers, entry.n_controllers)) {
        if (controller->n_cnames == 0)
            fail("{}: a hierarchy has no name", imageName(ImageKind::Cgroup));
        std::vector<std::string> names(controller->cnames, controller->cnames + controller->n_cnames);
        const std::string controllers = joined(names);
        const std::optional<std::string> root = newRoot(controllers);
        const auto members = [&](auto&& visit) {
            for (auto& [id, set] : sets_)
                for (Member& member : set)
                    if (id != ownSet_ && member.controllers == controllers)
                        visit(member);
        };
        members([&](Member& member) {
            member.threaded = controller->has_is_threaded != 0 && controller->is_threaded != 0;
        });
        std::size_t prefix = 0;
        members([&](const Member& member) { prefix = std::max(prefix, member.prefix); });
        std::set<const Member*> done;
        for (const CgroupDirEntry* head : list(controller->dirs, controller->n_dirs)) {
            std::string path = withSlash(head->dir_name);
            if (root) {
                // For a task in a cgroup namespace, replaces the path of the namespace's root.
                const std::string old = path.size() >= prefix && prefix != 0 ? path.substr(0, prefix) : path;
                members([&](Member& member) {
                    const auto there = moved(member.path, old, *root);
                    if (!there || !done.insert(&member).second)
                        return;
                    member.path = *there;
                    member.prefix = member.prefix == 0 || *root == "/" ? 0 : root->size();
                });
                path = moved(path, old, *root).value_or(*root);
            }
            collectGroups(*head, controllers, path);
        }
    }
}

void CgroupRestore::collectGroups(const CgroupDirEntry& entry, const std::string& controllers,
                                  const std::string& path) {
    groups_.push_back({controllers, path, &entry, false});
    for (const CgroupDirEntry* child : list(entry.children, entry.n_children))
        collectGroups(*child, controllers, (path == "/" ? "" : path) + withSlash(child->dir_name));
}

void CgroupRestore::require(std::uint32_t set) const {
    if (set == 0 || set == ownSet_ || options_.cgroupMode == CgroupMode::Ignore)
        return;
    if (!image_) {
        Error error(0,
                    fmt::format("a task was in cgroup set {}, but {} isn't there", set, imageName(ImageKind::Cgroup)));
        error.addHint("restore with --manage-cgroups=ignore to have it where criu is");
        throw error;
    }
    (void)membersOf(set);
}

void CgroupRestore::requireRoomForTasks(const std::map<std::uint32_t, std::size_t>& counts) {
    if (!image_)
        return;
    // Number of tasks, by controllers and path of the cgroup.
    std::map<std::pair<std::string, std::string>, std::uint64_t> wanted;
    for (const auto& [set, count] : counts)
        for (const Member& member : membersOf(set == 0 ? ownSet_ : set))
            if (countsTasks(member.controllers))
                for (std::size_t end = 1; end != std::string::npos && member.path != "/";) {
                    end = member.path.find('/', end + 1);
                    wanted[{member.controllers, member.path.substr(0, end)}] += count;
                }
    for (const auto& [group, count] : wanted) {
        const auto& [controllers, path] = group;
        const UniqueFd fd(::openat(hierarchies_->root(controllers), relative(path).c_str(),
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        const auto lack = fd ? findLackOfTasks(fd.get(), count) : std::nullopt;
        if (!lack)
            continue;
        Error error(EAGAIN, fmt::format("{} has {} tasks and may have {} (pids.max), and a restore wants {} more",
                                        label(controllers, path), lack->current, lack->most, count));
        error.addHint("raise pids.max of that group for the time of the restore");
        throw error;
    }
}

const std::vector<CgroupRestore::Member>& CgroupRestore::membersOf(std::uint32_t set) const {
    static const std::vector<Member> kAnywhere;
    const auto found = sets_.find(set);
    if (found == sets_.end() && set != 0)
        fail("{} has no set {}", imageName(ImageKind::Cgroup), set);
    return found == sets_.end() ? kAnywhere : found->second;
}

bool CgroupRestore::containsCriu(const Group& group) const {
    const auto& own = sets_.at(ownSet_);
    return std::any_of(own.begin(), own.end(), [&](const Member& member) {
        return member.controllers == group.controllers &&
               (member.path == group.path || member.path.starts_with(group.path + '/'));
    });
}

bool CgroupRestore::mayMake() const noexcept {
    return options_.cgroupMode != CgroupMode::None && options_.cgroupMode != CgroupMode::Props;
}

bool CgroupRestore::setsProperties(const Group& group) const noexcept {
    if (group.path == "/")
        return false;
    return group.fresh || options_.cgroupMode == CgroupMode::Full || options_.cgroupMode == CgroupMode::Props;
}

void CgroupRestore::create(kernel::FdStore& store) {
    for (Group& group : groups_)
        if (group.path != "/") {
            const ErrorContext context([&] { return label(group.controllers, group.path); });
            make(group);
        }
    // Opens the roots of all hierarchies that processes need, because restored processes move themselves.
    for (const auto& [id, set] : sets_)
        for (const Member& member : set) {
            const auto& own = sets_.at(ownSet_);
            const bool same = std::any_of(own.begin(), own.end(), [&](const Member& here) {
                return here.controllers == member.controllers && here.path == member.path;
            });
            if (!same)
                thawed_.thaw(hierarchies_->root(member.controllers), member.controllers, member.path);
        }
    hierarchies_->inherit(store);
}

void CgroupRestore::openCgroupProcs(kernel::FdStore& store) {
    if (!image_)
        return;
    const auto add = [&](const std::string& controllers, const std::string& path) {
        UniqueFd& entrance = cgroupProcs_[{controllers, path}];
        if (entrance)
            return;
        const UniqueFd group = openGroup(hierarchies_->root(controllers), path);
        entrance =
            store.inherit(kernel::FdKey::Cgroup, UniqueFd(sys(::openat(group.get(), kProcesses, O_WRONLY | O_CLOEXEC),
                                                              "open {} of {}", kProcesses, label(controllers, path))));
    };
    for (const auto& [id, set] : sets_)
        for (const Member& member : set) {
            if (id == ownSet_ && sets_.size() == 1)
                continue;
            add(member.controllers, member.path);
            if (member.prefix != 0)
                add(member.controllers, member.path.substr(0, member.prefix));
        }
}

void CgroupRestore::make(Group& group) {
    const int root = hierarchies_->root(group.controllers);
    if (::faccessat(root, relative(group.path).c_str(), F_OK, 0) == 0) {
        if (options_.cgroupMode == CgroupMode::Strict && !containsCriu(group))
            fail("exists already, which --manage-cgroups=strict forbids");
        return;
    }
    if (errno != ENOENT)
        failErrno("look for it");
    if (!mayMake())
        fail("doesn't exist, and --manage-cgroups={} forbids to make it",
             options_.cgroupMode == CgroupMode::None ? "none" : "props");
    for (std::size_t end = group.path.find('/', 1); end != std::string::npos; end = group.path.find('/', end + 1))
        makeDirectory(group, group.path.substr(0, end));
    makeDirectory(group, group.path);
    group.fresh = true;
    log_.info("Made {}", label(group.controllers, group.path));

    const UniqueFd fd = openGroup(root, group.path);
    setOwner(fd.get(), group.entry->dir_perms, "it");
    for (const CgroupPropEntry* property : list(group.entry->properties, group.entry->n_properties)) {
        if (!isEarly(property->name))
            continue;
        setProperty(fd.get(), property->name, property->value);
        setOwner(fd.get(), *property);
    }
}

void CgroupRestore::makeDirectory(const Group& group, const std::string& path) {
    const int root = hierarchies_->root(group.controllers);
    if (::faccessat(root, relative(path).c_str(), F_OK, 0) == 0)
        return;
    log_.journal().record({"group", group.controllers, path});
    if (const int code = tryMakeDirectory(root, relative(path).c_str(), kGroupMode); code != 0) {
        if (code == EEXIST)
            return;
        failWith(code, "make {}", path);
    }
    struct stat status {};
    sys(::fstatat(root, relative(path).c_str(), &status, AT_SYMLINK_NOFOLLOW), "stat {}", path);
    const Inode inode = Inode::of(status);
    made_.push_back({group.controllers, path, inode});
    log_.journal().record(
        {"group", group.controllers, path, fmt::format("{}", inode.device), fmt::format("{}", inode.number)});
    // Copies the settings of the parent: the kernel lets no task enter a cpuset without CPUs or memory nodes (ENOSPC).
    const UniqueFd fresh = openGroup(root, path);
    const UniqueFd parent(sys(::openat(fresh.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open its parent"));
    for (const char* const name : {"cpuset.cpus", "cpuset.mems"})
        if (const auto inherited = readProperty(parent.get(), name); inherited && !group.controllers.empty())
            setProperty(fresh.get(), name, inherited->value);
}

void CgroupRestore::move(const std::string& text, const std::vector<Member>& from, const std::vector<Member>& to,
                         bool threads) {
    for (const Member& member : to) {
        const auto present = std::find_if(from.begin(), from.end(),
                                          [&](const Member& other) { return other.controllers == member.controllers; });
        if (present != from.end() && present->path == member.path)
            continue;
        if (threads && !member.threaded)
            continue;  // in a hierarchy that isn't threaded, a thread is in the cgroup of its process
        const ErrorContext context([&] { return fmt::format("move into {}", label(member.controllers, member.path)); });
        const auto entrance = cgroupProcs_.find({member.controllers, member.path});
        if (!threads && entrance != cgroupProcs_.end()) {
            sys(::write(entrance->second.get(), text.data(), text.size()), "write {} to {}", text, kProcesses);
            continue;
        }
        const UniqueFd group = openGroup(hierarchies_->root(member.controllers), member.path);
        const char* const file = !threads ? kProcesses : (member.controllers.empty() ? "cgroup.threads" : "tasks");
        writeFile(group.get(), file, text);
    }
}

void CgroupRestore::enterNamespace(std::uint32_t set, std::uint32_t from) {
    if (options_.cgroupMode == CgroupMode::Ignore)
        return;
    if (!image_)
        fail("the tree was in a cgroup namespace of its own, but {} isn't there", imageName(ImageKind::Cgroup));
    // The kernel uses the cgroup of the creator as the root of a new cgroup namespace (cgroup_namespaces(7)).
    std::vector<Member> roots = membersOf(set);
    for (Member& member : roots)
        member.path = member.prefix == 0 ? "/" : member.path.substr(0, member.prefix);
    move("0", membersOf(from), roots, false);
    sys(::unshare(CLONE_NEWCGROUP), "make a cgroup namespace");
    move("0", roots, membersOf(set), false);
}

std::uint32_t CgroupRestore::enterOwn(const CoreEntry& core, std::uint32_t from) {
    const std::uint32_t wanted = setOf(core);
    if (wanted == 0)
        return from;
    enter(wanted, from);
    return wanted;
}

void CgroupRestore::enter(std::uint32_t set, std::uint32_t from) {
    if (image_ && set != from)
        move("0", membersOf(from), membersOf(set), false);
}

void CgroupRestore::moveThread(HostPid tid, std::uint32_t set, std::uint32_t from) {
    if (image_ && set != from)
        move(fmt::to_string(tid), membersOf(from), membersOf(set), true);
}

void CgroupRestore::setProperties() {
    for (const Group& group : groups_) {
        if (!setsProperties(group))
            continue;
        const ErrorContext context([&] { return label(group.controllers, group.path); });
        const UniqueFd fd = openGroup(hierarchies_->root(group.controllers), group.path);
        if (!group.fresh)
            setOwner(fd.get(), group.entry->dir_perms, "it");
        const auto properties = list(group.entry->properties, group.entry->n_properties);
        setLate(fd.get(), properties, false);
        setLate(fd.get(), list(group.entry->more_properties, group.entry->n_more_properties), true);
        if (std::any_of(properties.begin(), properties.end(), isFrozen) && !containsCriu(group))
            thawed_.recordFrozenLater(fd.get());
    }
}

bool CgroupRestore::freezes() const {
    return !thawed_.empty() || std::any_of(groups_.begin(), groups_.end(), [this](const Group& group) {
        const auto properties = list(group.entry->properties, group.entry->n_properties);
        return setsProperties(group) && std::any_of(properties.begin(), properties.end(), isFrozen);
    });
}

FrozenGroups CgroupRestore::freeze() {
    FrozenGroups frozen(log_);
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
        if (!setsProperties(*group))
            continue;
        for (const CgroupPropEntry* property : list(group->entry->properties, group->entry->n_properties))
            if (isFreezer(property->name)) {
                const ErrorContext context([&] { return label(group->controllers, group->path); });
                freeze(*group, *property, frozen);
            }
    }
    thawed_.freeze();
    return frozen;
}

void CgroupRestore::freeze(const Group& group, const CgroupPropEntry& property, FrozenGroups& frozen) {
    UniqueFd fd = openGroup(hierarchies_->root(group.controllers), group.path);
    const std::optional<Property> before = readProperty(fd.get(), property.name);
    if (before && before->value == property.value)
        return;
    if (containsCriu(group)) {
        log_.warn("{} isn't set to {}: criu is in it", label(group.controllers, group.path), property.value);
        return;
    }
    setProperty(fd.get(), property.name, property.value);
    const std::string_view running = runningValue(property.name);
    if (property.value != running)
        frozen.add(std::move(fd), property.name, running, label(group.controllers, group.path));
}

void FrozenGroups::add(UniqueFd group, std::string property, std::string_view running, std::string label) {
    groups_.push_back({std::move(group), std::move(property), running, std::move(label)});
}

FrozenGroups::~FrozenGroups() {
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
        try {
            writeFile(group->fd.get(), group->property, group->running);
        } catch (const std::exception& error) {
            log_.warn("{} is left frozen: {}", group->label, error.what());
        }
    }
}

}  // namespace criu::cgroup
