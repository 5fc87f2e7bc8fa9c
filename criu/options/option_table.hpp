// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "criu/model/options.hpp"
#include "criu/options/command.hpp"

namespace criu::device {
struct SubsystemOption;
}

namespace criu::options {

struct OptionRow;

enum class Argument : std::uint8_t {
    None,
    Required,
    Optional,  ///< attached only: -v4, --cpu-cap=fpu
};

/// Existence of the form --no-NAME.
enum class NoForm : bool { Absent, Present };

/// Support for an option in this build.
enum class Support : std::uint8_t {
    Built,
    Moot,     ///< accepted without effect: criu refuses or can't meet the case that it tunes
    Missing,  ///< refused with the commands it applies to
    Removed,  ///< always refused: CRIU removed it long ago
};

enum class Section : std::uint8_t {
    General,
    Run,
    Files,
    Mounts,
    Network,
    Cgroups,
    Security,
    Memory,
    Transfer,
    Devices,
    Probing
};

/// An option with its value.
struct Given {
    const OptionRow& row;
    bool negated = false;
    std::optional<std::string_view> value;
};

struct Request;

/// Fields of criu_opts (images/rpc.proto) that correspond to an option.
class RequestPart {
public:
    /// Stores the fields of a request if they are present. Throws Error if a field is malformed, or not allowed to
    /// this client.
    using Read = void (*)(model::Options&, const Request&);

    /// For options without a field.
    constexpr RequestPart() noexcept = default;
    /// For a field with the meaning of the option's argument. A bool means NAME or no-NAME; a number or text means
    /// NAME with this argument; repeated texts mean NAME with each of them.
    constexpr RequestPart(const char* field) noexcept : fields_{field, {}} {}
    /// For fields of another form.
    constexpr RequestPart(const char* field, Read function) noexcept : fields_{field, {}}, read_(function) {}
    constexpr RequestPart(const char* field, const char* other, Read function) noexcept
        : fields_{field, other}, read_(function) {}

    /// Returns the names of the fields; "" means none.
    [[nodiscard]] constexpr const std::array<std::string_view, 2>& fields() const noexcept { return fields_; }
    /// Returns null if the only field has the meaning of the option's argument.
    [[nodiscard]] constexpr Read read() const noexcept { return read_; }

    /// True if clients with fewer rights than criu may use the option. Such an option concerns only the client's own
    /// processes, gives criu no action that the client couldn't do itself, and names no path or program.
    [[nodiscard]] constexpr bool forClients() const noexcept { return forClients_; }
    /// Returns a copy that all clients may use.
    [[nodiscard]] constexpr RequestPart allowedToClients() const noexcept {
        RequestPart part = *this;
        part.forClients_ = true;
        return part;
    }

private:
    std::array<std::string_view, 2> fields_{};
    Read read_ = nullptr;
    bool forClients_ = false;
};

/// Row of the option table: one option, for the command line, configuration files, requests and help.
struct OptionRow {
    Section section;
    std::string_view name;  ///< long name without dashes
    char letter;            ///< short name, 0 if none
    Argument argument;
    std::string_view placeholder;  ///< name of the argument in help texts
    NoForm noForm;
    CommandSet commands;  ///< commands that use it; others accept and ignore it
    Support support;
    std::string_view help;
    /// Stores the value. Throws Error if it is malformed.
    void (*apply)(model::Options&, const Given&);
    RequestPart request = {};
    const device::SubsystemOption* subsystem = nullptr;  ///< option of a device subsystem; null for options of criu
};

/// Returns all options, with those of device subsystems, ordered by section.
std::span<const OptionRow> optionTable() noexcept;

std::string_view sectionTitle(Section section) noexcept;

}  // namespace criu::options
