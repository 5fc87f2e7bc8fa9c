// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {

/// The namespaces of one kind that processes of a tree are in, but not its root.
class NonRootNsDump {
public:
    struct Space {
        std::uint32_t inode;
        std::uint32_t number;  ///< in images
        const SeenProcess* member;
    };

    /// Numbers them. Throws Error if a process is where criu is, but the root isn't, or CRIU 4.2 is to restore this.
    NonRootNsDump(kernel::NamespaceKind kind, const DumpInputs& inputs);

    [[nodiscard]] bool empty() const noexcept { return spaces_.empty(); }
    [[nodiscard]] const std::vector<Space>& all() const noexcept { return spaces_; }
    /// Null: none of these. Valid until the next add().
    [[nodiscard]] const Space* find(std::uint32_t inode) const noexcept;
    /// That of a process; null if it is in that of the root.
    [[nodiscard]] const Space* of(HostPid process) const;

    /// The number of a namespace that a process holds in another way than by being in it.
    std::uint32_t add(std::uint32_t inode, const SeenProcess& process);

    /// If there are any: CRIU 4.2 is to refuse these images.
    void noteExtension(const DumpOutputs& outputs) const;

private:
    kernel::NamespaceKind kind_;
    const DumpInputs& inputs_;
    std::vector<Space> spaces_;
    std::map<HostPid, std::size_t> places_;  ///< of processes: which of them
};

/// The dump half of a kind of which processes may be in several namespaces.
class NonRootNsKindDump : public NamespaceDump {
public:
    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override;
    [[nodiscard]] std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const override;

protected:
    /// When a restored process goes to its namespace. Whoever opens a descriptor of a namespace, which isn't always who
    /// had it, opens the one that it is in: in the first case that is the root's.
    enum class Enters { AfterItsFiles, BeforeItsFiles };

    NonRootNsKindDump(kernel::NamespaceKind kind, const DumpInputs& inputs, Enters enters)
        : NamespaceDump(kind, inputs), further_(kind, inputs), enters_(enters) {}

    NonRootNsDump further_;

private:
    Enters enters_;
};

}  // namespace criu::namespaces
