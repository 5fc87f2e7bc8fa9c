// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace criu::engine {

/// Value of a difference for an object or field that one side lacks.
inline constexpr std::string_view kAbsent = "absent";
/// Value of a difference for an object that only one side has.
inline constexpr std::string_view kPresent = "present";

/// Place of a value in a tree.
struct Place {
    std::string process;  ///< virtual pid and comm, such as "7 (sleep)"; empty for objects of the whole tree
    std::string object;   ///< object of the process or of the tree, such as "fd 3"; may be empty

    /// Returns the place of a part of the object.
    [[nodiscard]] Place within(std::string_view part) const;
};

/// Difference between images and a tree.
struct Difference {
    Place place;
    std::string field;  ///< name of the field in the image, with its messages; empty for a whole object
    std::string image;  ///< value in the image, in words
    std::string tree;   ///< value in the tree, in words
};

/// Result of a comparison.
struct Differences {
    std::vector<Difference> found;
    std::vector<std::string> uncompared;  ///< parts that criu couldn't compare, with the reason

    /// Returns the report with one line for each difference and for each part that wasn't compared.
    [[nodiscard]] std::string text() const;
    /// Returns the report as a JSON document.
    [[nodiscard]] std::string json() const;
};

}  // namespace criu::engine
