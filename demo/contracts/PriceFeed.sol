// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A price feed (AggregatorV3Interface). Every account can set its price, freeze it, make it incomplete, or break it.
contract PriceFeed {
    uint8 public immutable decimals;
    uint80 private round;
    uint80 private answeredIn;
    int256 private answer;
    uint256 private updatedAt;
    bool private isBroken;

    constructor(uint8 decimals_, int256 answer_, uint256 updatedAt_) {
        decimals = decimals_;
        set(answer_, updatedAt_);
    }

    /// Begin a new round with this price and time.
    function set(int256 answer_, uint256 updatedAt_) public {
        round += 1;
        answeredIn = round;
        answer = answer_;
        updatedAt = updatedAt_;
    }

    /// Begin a new round that has the price of the last round.
    function skip() external {
        round += 1;
    }

    /// If `isBroken_`, revert each call that reads the price.
    function breakDown(bool isBroken_) external {
        isBroken = isBroken_;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        require(!isBroken, "No data present");
        return (round, answer, updatedAt, updatedAt, answeredIn);
    }
}
