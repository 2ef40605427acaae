// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface ISweepable {
    function sweep(address token) external;
}

/// A contract that calls `target` back, once, if `reenter` was called before.
abstract contract Reentrant {
    ISweepable private target;
    address private asset;

    function reenter(address target_, address asset_) external {
        target = ISweepable(target_);
        asset = asset_;
    }

    function callBack() internal {
        if (address(target) != address(0)) {
            ISweepable once = target;
            target = ISweepable(address(0));
            once.sweep(asset);
        }
    }
}

/// An ERC-20 token without limits. Every account can set balances, and spend those of all others.
contract TokenModel {
    mapping(address => uint256) public balanceOf;

    function setBalance(address owner, uint256 amount) external {
        balanceOf[owner] = amount;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        return transferFrom(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public returns (bool) {
        require(balanceOf[from] >= amount);
        unchecked {
            balanceOf[from] -= amount;
            balanceOf[to] += amount;
        }
        return true;
    }
}

/// An attacker's token, which returns any balance and any result, and calls back. If a contract delegates a call to
/// this token, the token takes the contract's coin.
contract HostileToken is Reentrant {
    address private constant THIEF = address(0xdead);
    uint256 private immutable BALANCE;
    uint256 private immutable RESULT;

    constructor(uint256 balance, uint256 result) {
        BALANCE = balance;
        RESULT = result;
    }

    receive() external payable {}

    function balanceOf(address) external view returns (uint256) {
        return BALANCE;
    }

    function transfer(address, uint256) external returns (uint256) {
        callBack();
        if (address(this).balance != 0) {
            (bool done, ) = THIEF.call{value: address(this).balance}("");
            require(done);
        }
        require(RESULT != 2);
        return RESULT;
    }
}

/// Accepts or rejects native coin, and may call back.
contract RecipientModel is Reentrant {
    bool private immutable ACCEPTS;

    constructor(bool accepts) {
        ACCEPTS = accepts;
    }

    receive() external payable {
        callBack();
        require(ACCEPTS);
    }
}

/// The functions of the prover. Sources: halmos-cheatcodes, and Foundry's cheat codes.
interface IProver {
    function createUint256(string memory name) external returns (uint256);
    function createAddress(string memory name) external returns (address);
    function createBool(string memory name) external returns (bool);
    function createBytes(uint256 size, string memory name) external returns (bytes memory);
    function assume(bool condition) external;
    function deal(address account, uint256 amount) external;
    function prank(address caller) external;
}
